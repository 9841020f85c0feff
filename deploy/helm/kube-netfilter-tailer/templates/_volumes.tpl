{{- define "kube-netfilter-tailer.volumeMounts" -}}
{{- $preset := include "kube-netfilter-tailer.preset" . | fromYaml -}}
- name: var-log
  mountPath: {{ $preset.logs | default "/var/log" }}
  readOnly: true
- name: state
  mountPath: {{ include "kube-netfilter-tailer.stateDir" . | quote }}
{{- if hasKey $preset "journal" }}
- name: run-log
  mountPath: /run/log
  readOnly: true
{{- end }}
{{- if .Values.conntrack.owners }}
- name: proc
  mountPath: {{ include "kube-netfilter-tailer.procRoot" . | quote }}
  readOnly: true
{{- else if .Values.conntrack.details }}
- name: proc-net
  mountPath: {{ printf "%s/self/net" (include "kube-netfilter-tailer.procRoot" .) | quote }}
  readOnly: true
- name: proc-sys-netfilter
  mountPath: {{ printf "%s/sys/net/netfilter" (include "kube-netfilter-tailer.procRoot" .) | quote }}
  readOnly: true
{{- end }}
{{- if .Values.dockerRuntime }}
- name: docker-containers
  mountPath: /var/lib/docker/containers
  readOnly: true
{{- end }}
{{- if or .Values.bpfTrace .Values.kernelDrops }}
- name: tracing
  mountPath: /tracing
{{- end }}
{{- if .Values.calicoFlows }}
- name: flows
  mountPath: /flows
{{- end }}
{{- if .Values.lookups.directory.enabled }}
- name: directory
  mountPath: {{ include "kube-netfilter-tailer.directoryFolder" . | quote }}
  readOnly: true
{{- end }}
{{- if .Values.audit.file }}
- name: audit
  mountPath: /audit
{{- end }}
{{- if .Values.config }}
# A folder: a single file that is mounted with subPath never changes.
- name: config
  mountPath: /etc/kube-netfilter-tailer
  readOnly: true
{{- end }}
{{- with .Values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "kube-netfilter-tailer.volumes" -}}
{{- $preset := include "kube-netfilter-tailer.preset" . | fromYaml -}}
- name: var-log
  hostPath:
    path: {{ $preset.logs | default "/var/log" }}
    type: {{ ternary "DirectoryOrCreate" "Directory" (hasKey $preset "logs") }}
- name: state
{{- if hasKey $preset "emptyState" }}
  emptyDir:
    sizeLimit: {{ $preset.emptyState }}
{{- else }}
  hostPath:
    path: {{ include "kube-netfilter-tailer.stateDir" . | quote }}
    type: DirectoryOrCreate
{{- end }}
{{- if hasKey $preset "journal" }}
- name: run-log
  hostPath:
    path: /run/log
    type: DirectoryOrCreate
{{- end }}
{{- if .Values.conntrack.owners }}
- name: proc
  hostPath:
    path: /proc
    type: Directory
{{- else if .Values.conntrack.details }}
- name: proc-net
  hostPath:
    path: /proc/1/net
    type: Directory
- name: proc-sys-netfilter
  hostPath:
    path: /proc/sys/net/netfilter
    type: Directory
{{- end }}
{{- if .Values.dockerRuntime }}
- name: docker-containers
  hostPath:
    path: /var/lib/docker/containers
    type: Directory
{{- end }}
{{- if or .Values.bpfTrace .Values.kernelDrops }}
- name: tracing
  hostPath:
    path: /sys/kernel/tracing
    type: Directory
{{- end }}
{{- if .Values.calicoFlows }}
- name: flows
  hostPath:
    path: /var/run/calico/flows
    type: DirectoryOrCreate
{{- end }}
{{- if .Values.lookups.directory.enabled }}
- name: directory
  projected:
    defaultMode: 256
    sources:
      - configMap:
          name: {{ include "kube-netfilter-tailer.directoryName" . | quote }}
          optional: true
      - serviceAccountToken:
          path: token
          audience: kube-netfilter-tailer-directory
          expirationSeconds: 3600
{{- end }}
{{- if .Values.audit.file }}
- name: audit
  hostPath:
    path: /var/log/kube-netfilter-tailer
    type: DirectoryOrCreate
{{- end }}
{{- if .Values.config }}
- name: config
  configMap:
    name: {{ include "kube-netfilter-tailer.fullname" . | quote }}
{{- end }}
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end }}
