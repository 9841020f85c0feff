/** Lists other objects that policies need, which are read only if a policy that selects the Pod asks for them. */

export interface Requirements {
  /** Services whose endpoints rules name, each as `NAMESPACE/NAME`. */
  readonly services: readonly string[];
  /** ServiceAccounts of the two Pods whose labels rules or policies select by, each as `NAMESPACE/NAME`. */
  readonly serviceAccounts: readonly string[];
  /** Namespaces whose NetworkSets rules may select; `all` where a selector is not confined to some. */
  readonly networkSets: readonly string[] | 'all';
}

/** Into which clauses and selectors of policies put what they need. */
export class RequirementCollector {
  readonly #services = new Set<string>();
  readonly #networkSets = new Set<string>();
  #allNetworkSets = false;
  #accountLabels = false;

  service(name: string): void {
    this.#services.add(name);
  }

  accountLabels(): void {
    this.#accountLabels = true;
  }

  /** Undefined: of any Namespace. */
  networkSets(namespaces: readonly string[] | undefined): void {
    if (namespaces === undefined) this.#allNetworkSets = true;
    for (const each of namespaces ?? []) this.#networkSets.add(each);
  }

  /** `accounts`: those of the two Pods. */
  read(accounts: readonly string[]): Requirements {
    return {
      services: [...this.#services].toSorted(),
      serviceAccounts: this.#accountLabels ? [...new Set(accounts)].toSorted() : [],
      networkSets: this.#allNetworkSets ? 'all' : [...this.#networkSets].toSorted(),
    };
  }
}
