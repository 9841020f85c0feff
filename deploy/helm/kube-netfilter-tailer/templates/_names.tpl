{{- define "kube-netfilter-tailer.name" -}}
{{- .Values.nameOverride | default .Chart.Name | trunc 63 | trimAll "-" }}
{{- end }}

{{- define "kube-netfilter-tailer.fullname" -}}
{{- $name := .Values.nameOverride | default .Chart.Name }}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride }}
{{- else if contains $name .Release.Name }}
{{- .Release.Name }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 63 | trimAll "-" }}
{{- end }}
{{- end }}

{{- /*
For what belongs to no namespace: releases of one name in two namespaces need two names. A namespace has no dot in its name,
so no other release comes to the same. A namespace of the release's own name is not named twice.
*/}}
{{- define "kube-netfilter-tailer.clusterName" -}}
{{- $fullname := include "kube-netfilter-tailer.fullname" . }}
{{- if eq $fullname .Release.Namespace }}
{{- $fullname }}
{{- else }}
{{- printf "%s.%s" .Release.Namespace $fullname }}
{{- end }}
{{- end }}

{{- /* Of all that belongs to the shared directory; 63 characters at most, as a label. */}}
{{- define "kube-netfilter-tailer.directoryName" -}}
{{- printf "%s-directory" (include "kube-netfilter-tailer.fullname" . | trunc 53 | trimSuffix "-") }}
{{- end }}

{{- define "kube-netfilter-tailer.directorySelectorLabels" -}}
app.kubernetes.io/name: {{ printf "%s-directory" (include "kube-netfilter-tailer.name" . | trunc 53 | trimSuffix "-") | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end }}

{{- define "kube-netfilter-tailer.directoryLabels" -}}
{{- include "kube-netfilter-tailer.added" (list (include "kube-netfilter-tailer.ownDirectoryLabels" .) "commonLabels" .Values.commonLabels) }}
{{- end }}

{{- define "kube-netfilter-tailer.ownDirectoryLabels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimAll "-_." }}
{{ include "kube-netfilter-tailer.directorySelectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "kube-netfilter-tailer.serviceAccountName" -}}
{{- if .Values.serviceAccount.create }}
{{- .Values.serviceAccount.name | default (include "kube-netfilter-tailer.fullname" .) }}
{{- else }}
{{- .Values.serviceAccount.name | default "default" }}
{{- end }}
{{- end }}

{{- define "kube-netfilter-tailer.priorityClassName" -}}
{{- if .Values.priorityClassName }}
{{- .Values.priorityClassName }}
{{- else if .Values.priorityClass.create }}
{{- .Values.priorityClass.name | default (include "kube-netfilter-tailer.clusterName" .) }}
{{- else }}
{{- .Values.priorityClass.name }}
{{- end }}
{{- end }}

{{- define "kube-netfilter-tailer.selectorLabels" -}}
app.kubernetes.io/name: {{ include "kube-netfilter-tailer.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end }}

{{- define "kube-netfilter-tailer.labels" -}}
{{- include "kube-netfilter-tailer.added" (list (include "kube-netfilter-tailer.ownLabels" .) "commonLabels" .Values.commonLabels) }}
{{- end }}

{{- /* Own labels, commonLabels, and over these the labels of one value: a list of the root, the own ones as YAML, the value's name, and the value. */}}
{{- define "kube-netfilter-tailer.withLabels" -}}
{{- $common := (index . 0).Values.commonLabels }}
{{- $_ := include "kube-netfilter-tailer.added" (list (index . 1) "commonLabels" $common) }}
{{- include "kube-netfilter-tailer.added" (list (index . 1) (index . 2) (merge (deepCopy (index . 3 | default dict)) ($common | default dict))) }}
{{- end }}

{{- define "kube-netfilter-tailer.ownLabels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimAll "-_." }}
{{ include "kube-netfilter-tailer.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- /*
Labels or annotations with those of a value added: a list of the chart's own as YAML, the name of the value, and the value. A key that is
there twice is no YAML, and without its own the chart would not find its Pods.
*/}}
{{- define "kube-netfilter-tailer.added" -}}
{{- $own := index . 0 | fromYaml }}
{{- $path := index . 1 }}
{{- $given := index . 2 | default dict }}
{{- range $key, $_ := $own }}
{{- if hasKey $given $key }}
{{- fail (printf "%s: %s is the chart's to set: take it out" $path $key) }}
{{- end }}
{{- end }}
{{- merge $own $given | toYaml }}
{{- end }}

{{- /*
Queries of deploy/monitoring with this release's names. The operator makes the job NAMESPACE/NAME of a PodMonitor; with it, a release whose
name begins as this one's is another. Metrics of kube-state-metrics have the namespace of what they speak of.
*/}}
{{- define "kube-netfilter-tailer.ownNames" -}}
{{- $root := first . }}
{{- $fullname := include "kube-netfilter-tailer.fullname" $root }}
{{- $job := ternary (printf "%s/%s" $root.Release.Namespace $fullname) (printf ".*%s.*" $fullname) $root.Values.podMonitor.enabled }}
{{- $text := last . | replace ".*kube-netfilter-tailer.*" $job }}
{{- $text = $text | replace "daemonset kube-netfilter-tailer" (printf "daemonset %s" $fullname) }}
{{- $names := printf "${1}=${2}%s${2}, namespace=${2}%s${2}" $fullname $root.Release.Namespace }}
{{- regexReplaceAll `(daemonset|created_by_name)=(\\?")kube-netfilter-tailer\\?"` $text $names }}
{{- end }}
