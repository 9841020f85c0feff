// package.json names what a release is made of; everything else that names it is held against that.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { load } from 'js-yaml';

export const root = join(import.meta.dirname, '../..');
export const chartFolder = 'deploy/helm/kube-netfilter-tailer';

/** Stands for the account that will have the repository, wherever that is named. */
export const placeholder = 'OWNER';

export interface Project {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly license: string;
  readonly keywords: readonly string[];
  /** `https://github.com/OWNER/kube-netfilter-tailer` */
  readonly homepage: string;
  readonly bugs: string;
  readonly repository: { readonly type: string; readonly url: string };
  readonly bin: Readonly<Record<string, string>>;
  readonly engines: { readonly node: string };
  readonly optionalDependencies: Readonly<Record<string, string>>;
}

export function readProject(): Project {
  return JSON.parse(read('package.json')) as Project;
}

/** The account that has the repository, in lower case as registries want it. */
export function ownerOf({ homepage }: Project): string {
  return (/^https:\/\/github\.com\/([^/]+)\/[^/]+$/.exec(homepage)?.[1] ?? placeholder).toLowerCase();
}

/** The section of CHANGELOG.md on a version, without its heading. Throws where there is none. */
export function releaseNotes(version: string, changelog: string = read('CHANGELOG.md')): string {
  const [, ...sections] = changelog.split(/^## /m);
  const section = sections.find((each) => /^\[?([^\s,\]]+)/.exec(each)?.[1] === version);
  if (section === undefined) throw new Error(`CHANGELOG.md has no section "## ${version}"`);
  return `${section.slice(section.indexOf('\n') + 1).trim()}\n`;
}

/** Lists what keeps this checkout from being released under a tag, each with what to do. */
export function problemsOf(project: Project, tag = `v${project.version}`, env = process.env): string[] {
  const { version, homepage } = project;
  const problems: string[] = [];
  const named = {
    'package.json': read('package.json'),
    [`${chartFolder}/Chart.yaml`]: read(`${chartFolder}/Chart.yaml`),
  };
  for (const [file, text] of Object.entries(named)) {
    const places = text.split('\n').filter((line) => line.includes(placeholder)).length;
    if (places > 0)
      problems.push(`${file}: ${placeholder} stands for the account of the repository in ${places} lines: put it in`);
  }
  if (tag !== `v${version}`) problems.push(`the tag is ${tag}, package.json has ${version}: it should be v${version}`);
  const chart = load(read(`${chartFolder}/Chart.yaml`)) as Record<string, unknown>;
  for (const key of ['version', 'appVersion'])
    if (chart[key] !== version) problems.push(`Chart.yaml: ${key} is ${String(chart[key])}: make it ${version}`);
  if (chart['home'] !== homepage) problems.push(`Chart.yaml: home is ${String(chart['home'])}: make it ${homepage}`);
  const repository = env['GITHUB_REPOSITORY'];
  if (repository !== undefined && homepage !== `https://github.com/${repository}`)
    problems.push(`package.json: homepage is ${homepage}, and the workflow runs in ${repository}`);
  const expected = { Dockerfile: `ARG VERSION=${version}`, 'deploy/base/kustomization.yaml': `newTag: ${version}` };
  for (const [file, line] of Object.entries(expected))
    if (!read(file).includes(line)) problems.push(`${file}: has no line "${line}"`);
  const heading = read('CHANGELOG.md')
    .split('\n')
    .find((line) => line.startsWith(`## ${version}`));
  if (heading === undefined) problems.push(`CHANGELOG.md: has no section "## ${version}"`);
  else if (!/, \d{4}-\d\d-\d\d$/.test(heading))
    problems.push(`CHANGELOG.md: "${heading}" has no date: make it "## ${version}, YYYY-MM-DD"`);
  return problems;
}

function read(path: string): string {
  return readFileSync(join(root, path), 'utf8');
}
