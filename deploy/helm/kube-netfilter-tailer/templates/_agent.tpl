{{- /* Nodes that run no DaemonSets or mount no folders of the host: Pods would wait there for ever. A node without the label passes. */}}
{{- define "kube-netfilter-tailer.affinity" -}}
nodeAffinity:
  requiredDuringSchedulingIgnoredDuringExecution:
    nodeSelectorTerms:
      - matchExpressions:
          - key: eks.amazonaws.com/compute-type
            operator: NotIn
            values: [fargate]
          - key: type
            operator: NotIn
            values: [virtual-kubelet]
{{- end }}

{{- /* What the preset stands for, as YAML. */}}
{{- define "kube-netfilter-tailer.preset" -}}
{{- get (.Files.Get "files/presets.yaml" | fromYaml) .Values.preset | toYaml }}
{{- end }}

{{- define "kube-netfilter-tailer.image" -}}
{{- $preset := include "kube-netfilter-tailer.preset" . | fromYaml -}}
{{- $default := ternary (printf "%s-journal" .Chart.AppVersion) .Chart.AppVersion (hasKey $preset "journal") }}
{{- $repository := include "kube-netfilter-tailer.repository" . }}
{{- with .Values.image }}
{{- if not .digest }}
{{- printf "%s:%s" $repository (.tag | default $default) }}
{{- else if .tag }}
{{- printf "%s:%s@%s" $repository .tag .digest }}
{{- else }}
{{- printf "%s@%s" $repository .digest }}
{{- end }}
{{- end }}
{{- end }}

{{- /*
A mirror of all images goes in place of the registry that a repository names, and so does one for the image of the release itself. Of two
registries that a user names for one image, none goes before the other.
*/}}
{{- define "kube-netfilter-tailer.repository" -}}
{{- $repository := .Values.image.repository }}
{{- $host := `^([^/]*[.:\]][^/]*|localhost)/` }}
{{- if not $repository }}
{{- fail "image.repository: is not set, and a checkout has no image of its own: build one (docs/deploy.md), push it, and --set image.repository=REGISTRY/kube-netfilter-tailer" }}
{{- end }}
{{- $ofRelease := .Chart.Home | replace "https://github.com/" "ghcr.io/" | lower }}
{{- if and .Values.image.registry (regexMatch $host $repository) (ne $repository $ofRelease) }}
{{- fail (printf "image.registry: %q, and image.repository names another registry, %q: leave one of them out" .Values.image.registry $repository) }}
{{- end }}
{{- with (.Values.global).imageRegistry | default .Values.image.registry }}
{{- printf "%s/%s" . (regexReplaceAll $host $repository "") }}
{{- else }}
{{- $repository }}
{{- end }}
{{- end }}

{{- /* Names and maps with a name are the same. */}}
{{- define "kube-netfilter-tailer.imagePullSecrets" -}}
{{- $names := list }}
{{- range concat ((.Values.global).imagePullSecrets | default list) (.Values.imagePullSecrets | default list) }}
{{- $names = append $names (kindIs "string" . | ternary . (get (kindIs "map" . | ternary . dict) "name")) }}
{{- end }}
{{- range uniq $names }}
- name: {{ . | quote }}
{{- end }}
{{- end }}

{{- /* Where docs/ is served, with a slash at the end; empty: nowhere that is known. */}}
{{- define "kube-netfilter-tailer.docsUrl" -}}
{{- with .Values.docsUrl }}
{{- printf "%s/" (trimSuffix "/" .) }}
{{- end }}
{{- end }}

{{- /* A variable goes over the file, so what config has itself is left to the file. */}}
{{- define "kube-netfilter-tailer.env" -}}
{{- $preset := include "kube-netfilter-tailer.preset" . | fromYaml -}}
{{- $config := .Values.config | default dict -}}
- name: NODE_NAME
  valueFrom:
    fieldRef:
      fieldPath: spec.nodeName
- name: POD_NAME
  valueFrom:
    fieldRef:
      fieldPath: metadata.name
- name: POD_NAMESPACE
  valueFrom:
    fieldRef:
      fieldPath: metadata.namespace
{{- if not (hasKey $config "sources") }}
- name: SOURCES
  value: {{ include "kube-netfilter-tailer.sources" . | quote }}
{{- end }}
{{- if and .Values.hostNetwork (not (hasKey $config "metricsAddress")) }}
# 9090 is often taken on nodes (Cockpit, Prometheus).
- name: METRICS_ADDRESS
  value: ':9690'
{{- end }}
{{- if not (hasKey $config "healthAddress") }}
- name: HEALTH_ADDRESS
  value: {{ include "kube-netfilter-tailer.healthAddress" . | quote }}
{{- end }}
{{- if and (include "kube-netfilter-tailer.conntrack" .) (not (hasKey $config "procRoot")) }}
- name: PROC_ROOT
  value: /host/proc
{{- end }}
{{- if .Values.lookups.directory.enabled }}
{{- if not (hasKey $config "directory") }}
- name: DIRECTORY
  value: /var/run/kube-netfilter-tailer
{{- end }}
{{- if not (hasKey $config "podLookups") }}
- name: POD_LOOKUPS
  value: directory
{{- end }}
{{- end }}
{{- if not (or .Values.policies (hasKey $config "policies")) }}
- name: POLICIES
  value: 'off'
{{- end }}
{{- $sinks := list -}}
{{- if .Values.audit.file }}{{ $sinks = append $sinks "file:/audit/audit.ndjson" }}{{ end }}
{{- with .Values.audit.otlp }}{{ $sinks = append $sinks (printf "otlp:%s" .) }}{{ end }}
{{- if and $sinks (not (hasKey $config "audit")) }}
- name: AUDIT
  value: {{ join "," $sinks | quote }}
{{- end }}
{{- if and .Values.audit.optOut (not (hasKey $config "auditOptOut")) }}
- name: AUDIT_OPT_OUT
  value: 'true'
{{- end }}
{{- if and .Values.nodeCondition (not (hasKey $config "nodeCondition")) }}
- name: NODE_CONDITION
  value: 'true'
{{- end }}
{{- if and .Values.liveDrops (not (hasKey $config "dropsAddress")) }}
- name: DROPS_ADDRESS
  value: ':9092'
{{- end }}
{{- with include "kube-netfilter-tailer.docsUrl" . }}
- name: DOCS_URL
  value: {{ . | quote }}
{{- end }}
{{- if $config }}
- name: CONFIG_FILE
  value: /etc/kube-netfilter-tailer/config.yaml
{{- end }}
{{- range .Values.extraEnv }}
{{- if has .name (list "NODE_NAME" "POD_NAME" "POD_NAMESPACE" "SOURCES" "METRICS_ADDRESS" "HEALTH_ADDRESS" "STATE_DIR" "PROC_ROOT" "DIRECTORY" "POD_LOOKUPS" "POLICIES" "AUDIT" "AUDIT_OPT_OUT" "NODE_CONDITION" "DROPS_ADDRESS" "CONFIG_FILE" "DOCS_URL" "METRICS_SERVER_PORT") }}
{{- fail (printf "extraEnv: %s is the chart's to set: take it out, and put the setting under config" .name) }}
{{- end }}
{{- end }}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "kube-netfilter-tailer.sources" -}}
{{- $sources := list (get (include "kube-netfilter-tailer.preset" . | fromYaml) "sources") -}}
{{- if .Values.bpfTrace }}{{ $sources = append $sources "bpf-trace:/tracing" }}{{ end }}
{{- if .Values.calicoFlows }}{{ $sources = append $sources "calico-flows:/flows" }}{{ end }}
{{- if .Values.kernelDrops }}{{ $sources = append $sources "kernel-drops:/tracing" }}{{ end }}
{{- join "," $sources }}
{{- end }}

{{- define "kube-netfilter-tailer.metricsPort" -}}
{{- if hasKey (.Values.config | default dict) "metricsAddress" }}
{{- include "kube-netfilter-tailer.reachedPort" (list "metricsAddress" .Values.config.metricsAddress "Prometheus does not reach it") }}
{{- else }}
{{- ternary 9690 9090 .Values.hostNetwork }}
{{- end }}
{{- end }}

{{- define "kube-netfilter-tailer.dropsPort" -}}
{{- if hasKey (.Values.config | default dict) "dropsAddress" }}
{{- include "kube-netfilter-tailer.reachedPort" (list "dropsAddress" .Values.config.dropsAddress "the API server, which kubectl drops top asks, does not reach it") }}
{{- else -}}
9092
{{- end }}
{{- end }}

{{- /* Of an address that others connect to: its name, the address, and who cannot reach it if it is the container's own. */}}
{{- define "kube-netfilter-tailer.reachedPort" -}}
{{- $port := include "kube-netfilter-tailer.portOf" . }}
{{- if include "kube-netfilter-tailer.isLoopback" (index . 1) }}
{{- fail (printf "config.%s %q: %s: leave the host out, as in :%s" (index . 0) (index . 1) (index . 2) $port) }}
{{- end }}
{{- $port }}
{{- end }}

{{- /* On the node's network no NetworkPolicy holds for it: there only the node itself reaches it. */}}
{{- define "kube-netfilter-tailer.healthAddress" -}}
{{- (.Values.config).healthAddress | default (ternary "127.0.0.1:9691" ":9091" .Values.hostNetwork) }}
{{- end }}

{{- define "kube-netfilter-tailer.healthPort" -}}
{{- include "kube-netfilter-tailer.portOf" (list "healthAddress" (include "kube-netfilter-tailer.healthAddress" .)) }}
{{- end }}

{{- /* What the schema cannot see, because it is about two values. */}}
{{- define "kube-netfilter-tailer.check" -}}
{{- $ports := dict (include "kube-netfilter-tailer.metricsPort" .) "metricsAddress" }}
{{- $others := dict "healthAddress" (include "kube-netfilter-tailer.healthPort" .) }}
{{- if .Values.liveDrops }}
{{- $_ := set $others "dropsAddress" (include "kube-netfilter-tailer.dropsPort" .) }}
{{- else if (.Values.config).dropsAddress }}
{{- $_ := set $others "dropsAddress" (splitList ":" .Values.config.dropsAddress | last) }}
{{- end }}
{{- range $name, $port := $others }}
{{- with get $ports $port }}
{{- fail (printf "config.%s: port %s is that of config.%s: name another one for either" $name $port .) }}
{{- end }}
{{- $_ := set $ports $port $name }}
{{- end }}
{{- if and .Values.conntrack.owners (semverCompare "<1.30-0" .Capabilities.KubeVersion.Version) }}
{{- fail (printf "conntrack.owners: needs Kubernetes 1.30 for appArmorProfile, and this is %s: take conntrack.details" .Capabilities.KubeVersion.Version) }}
{{- end }}
{{- if and .Values.hostNetwork (ne (((.Values.updateStrategy | default dict).rollingUpdate | default dict).maxSurge | default 0 | toString | trimSuffix "%") "0") }}
{{- fail "updateStrategy.rollingUpdate.maxSurge: two agents cannot have one port of the node, so with hostNetwork a rollout would never end: take maxUnavailable" }}
{{- end }}
{{- end }}

{{- /* Where the kubelet's probes go; empty: to the address of the Pod. */}}
{{- define "kube-netfilter-tailer.probeHost" -}}
{{- $address := include "kube-netfilter-tailer.healthAddress" . }}
{{- if include "kube-netfilter-tailer.isLoopback" $address }}
{{- if not .Values.hostNetwork }}
{{- fail (printf "config.healthAddress %q: the kubelet's probes do not reach it: leave the host out, as in :%s" $address (include "kube-netfilter-tailer.healthPort" .)) }}
{{- end }}
{{- regexReplaceAll ":[0-9]+$" $address "" | replace "[" "" | replace "]" "" | quote }}
{{- end }}
{{- end }}

{{- define "kube-netfilter-tailer.isLoopback" -}}
{{- if regexMatch `^(localhost|127\.[0-9.]+|\[::1\]):` . }}true{{ end }}
{{- end }}

{{- define "kube-netfilter-tailer.portOf" -}}
{{- $name := index . 0 }}
{{- $address := index . 1 }}
{{- $port := splitList ":" $address | last }}
{{- if not (and (contains ":" $address) (regexMatch "^[1-9][0-9]{0,4}$" $port) (le (atoi $port) 65535)) }}
{{- fail (printf "config.%s %q: must be [HOST]:PORT, for example :9090" $name $address) }}
{{- end }}
{{- $port }}
{{- end }}

{{- define "kube-netfilter-tailer.stateDir" -}}
{{- include "kube-netfilter-tailer.ownFolder" (list . "stateDir" "/var/lib/kube-netfilter-tailer") }}
{{- end }}

{{- define "kube-netfilter-tailer.directoryFolder" -}}
{{- include "kube-netfilter-tailer.ownFolder" (list . "directory" "/var/run/kube-netfilter-tailer") }}
{{- end }}

{{- /*
A folder that a volume is mounted on: the root, the name of the setting, and its default. It must hide nothing that the container or another
volume has there.
*/}}
{{- define "kube-netfilter-tailer.ownFolder" -}}
{{- $default := index . 2 }}
{{- $folder := get ((index . 0).Values.config | default dict) (index . 1) | default $default }}
{{- $clean := clean $folder }}
{{- $isDeep := regexMatch `^/[^/[:cntrl:]]+(/[^/[:cntrl:]]+)+$` $clean }}
{{- if or (not $isDeep) (has $clean (list "/var/log" "/run/log" "/var/lib" "/var/run")) (regexMatch `^/(usr|bin|sbin|etc|lib|lib32|lib64|proc|sys|dev|licenses|(var|run)/log/(pods|containers|journal))(/|$)` $clean) }}
{{- fail (printf "config.%s %q: must be a folder of its own, for example %s" (index . 1) $folder $default) }}
{{- end }}
{{- $folder }}
{{- end }}

{{- /* Not empty where the host's /proc is needed. */}}
{{- define "kube-netfilter-tailer.conntrack" -}}
{{- if or .Values.conntrack.details .Values.conntrack.owners }}true{{ end }}
{{- end }}

{{- define "kube-netfilter-tailer.procRoot" -}}
{{- include "kube-netfilter-tailer.ownFolder" (list . "procRoot" "/host/proc") }}
{{- end }}

{{- define "kube-netfilter-tailer.ownSecurityContext" -}}
{{- $preset := include "kube-netfilter-tailer.preset" . | fromYaml -}}
privileged: {{ hasKey $preset "privileged" }}
# The API server refuses false for a privileged container.
allowPrivilegeEscalation: {{ hasKey $preset "privileged" }}
readOnlyRootFilesystem: true
{{- if or .Values.conntrack.owners (not (hasKey $preset "privileged")) }}
capabilities:
  {{- if not (hasKey $preset "privileged") }}
  drop: [ALL]
  {{- end }}
  {{- if .Values.conntrack.owners }}
  add: [SYS_PTRACE]
  {{- end }}
{{- end }}
{{- if .Values.conntrack.owners }}
appArmorProfile:
  type: Unconfined
{{- end }}
{{- end }}

{{- define "kube-netfilter-tailer.securityContext" -}}
{{- mergeOverwrite (include "kube-netfilter-tailer.ownSecurityContext" . | fromYaml) (deepCopy (.Values.securityContext | default dict)) | toYaml }}
{{- end }}

{{- define "kube-netfilter-tailer.podSecurityContext" -}}
{{- $preset := include "kube-netfilter-tailer.preset" . | fromYaml }}
{{- /* Logs belong to root and may be read by nobody else. Root without capabilities owns files, and has no other rights. */}}
{{- $own := dict "runAsUser" 0 "runAsGroup" 0 "seccompProfile" (dict "type" "RuntimeDefault") }}
{{- with concat ($preset.groups | default list) (.Values.supplementalGroups | default list) | uniq }}
{{- $_ := set $own "supplementalGroups" . }}
{{- end }}
{{- with .Values.seLinuxOptions | default $preset.seLinuxOptions }}
{{- $_ := set $own "seLinuxOptions" (deepCopy .) }}
{{- end }}
{{- mergeOverwrite $own (deepCopy (.Values.podSecurityContext | default dict)) | toYaml }}
{{- end }}

{{- define "kube-netfilter-tailer.podAnnotations" -}}
{{- $preset := include "kube-netfilter-tailer.preset" . | fromYaml -}}
kubectl.kubernetes.io/default-container: agent
{{- if hasKey $preset "openshift" }}
openshift.io/required-scc: {{ include "kube-netfilter-tailer.clusterName" . | quote }}
{{- end }}
{{- if .Values.config }}
checksum/config: {{ include "kube-netfilter-tailer.restartChecksum" . | quote }}
{{- end }}
{{- end }}

{{- /* Settings that the running agent does not follow: a change of one of them has to make new Pods. */}}
{{- define "kube-netfilter-tailer.restartChecksum" -}}
{{- omit .Values.config "prefixes" "includeNoise" "logLevel" | toJson | sha256sum }}
{{- end }}
