import type { SignRow } from './sign-row.ts';
import { kubeProxyLines } from './lines-kube-proxy.ts';
import { calicoLines } from './lines-calico.ts';
import { felixLines } from './lines-felix.ts';
import { quietLines } from './lines-quiet.ts';

export const lines: readonly SignRow[] = [...kubeProxyLines, ...calicoLines, ...felixLines, ...quietLines];
