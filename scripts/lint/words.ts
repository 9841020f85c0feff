/** Words that this project no longer uses in names, comments and titles of tests, and what it says instead. */
export interface RetiredWord {
  /** What matches it: words in lower case, one space between them. A name is split into its words first. */
  readonly pattern: string;
  readonly say: string;
  /** Only names are checked: in a sentence it is an ordinary word. */
  readonly namesOnly?: true;
  /** A term of the field that contains the word: same form as `pattern`. */
  readonly except?: string;
}

export const retiredWords: readonly RetiredWord[] = [
  { pattern: 'tells?|telling|tell', say: 'publish, report, notify, show, or say which; "distinguish" for two things' },
  { pattern: 'told|untold', say: 'published, notified, reported; unpublished' },
  { pattern: 'story|stories', say: 'Event details' },
  { pattern: 'culprits?', say: 'the failing Pod' },
  { pattern: 'suffer(?:s|ed|er|ers|ing)?', say: 'the affected Pod; is affected' },
  {
    pattern: 'pointers?|pointed',
    say: 'Pod notice',
    // RFC 6901; a field of ICMP's "parameter problem" (RFC 792); values as Go prints them.
    except: '(?:json|icmp|go) pointers?',
  },
  { pattern: 'points?', say: 'Pod notice; notify', namesOnly: true, except: '(?:code|entry|mount|end) ?points?' },
  { pattern: 'hurts?', say: 'impact' },
  { pattern: 'talkers?', say: 'top conntrack sources' },
  { pattern: 'nobody|somebody', say: 'who it is: a user, the agent, a program; or "nothing", "another process"' },
  { pattern: 'anew', say: 'again' },
  { pattern: 'keepers?', say: 'checkpointer' },
  { pattern: 'heads', say: 'finished files; openings, prefixes' },
  { pattern: 'seek|seeks|seeking', say: 'discover', namesOnly: true },
  {
    pattern: 'mirrors?|mirrored|mirroring',
    say: 'scrape collector; copy',
    // Kubernetes' name for the API object of a static Pod, and its annotation kubernetes.io/config.mirror.
    except: 'mirror (?:pods?|annotations?)|config mirror',
  },
  { pattern: 'complain(?:s|ed|ing|ts?)?', say: 'rate-limited log; problem, report' },
  { pattern: 'tally|tallies', say: 'counts, distinct values' },
  { pattern: 'waiting rooms?', say: 'lookup queue' },
  { pattern: 'investigat(?:e|es|ed|ions?)', say: 'lookup gate; look up' },
  { pattern: 'left alone|leaves? alone', say: 'cooldown' },
  { pattern: 'sets? back|setting back', say: 'clock step' },
  { pattern: 'said', say: 'record text; printed, wrote' },
  { pattern: 'calm', say: 'quiet period' },
  { pattern: 'rhythms?', say: 'retry interval' },
  { pattern: 'patience', say: 'timeout, limit' },
  { pattern: 'misspel(?:t|led|ling)', say: 'typo' },
  { pattern: 'troubles?|troubled', say: 'problem, condition' },
  { pattern: 'knowing', say: 'cluster context', namesOnly: true },
  { pattern: 'counting', say: 'ingest', namesOnly: true },
  { pattern: 'is news', say: 'is first', namesOnly: true },
  {
    pattern: 'proofs?',
    say: 'sync recovery, confirmation, check',
    // Names of scripts.
    except: '(?:image|arm64|bare) proof',
  },
  { pattern: 'bears? out|borne out|bearing out', say: 'confirm' },
  { pattern: 'what is ahead', say: 'later than now' },
  { pattern: 'files? of settings|settings files?', say: 'config file' },
];
