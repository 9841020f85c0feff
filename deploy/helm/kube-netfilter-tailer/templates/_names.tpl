{{- define "kube-netfilter-tailer.name" -}}
{{- .Values.nameOverride | default .Chart.Name | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "kube-netfilter-tailer.fullname" -}}
{{- $name := .Values.nameOverride | default .Chart.Name }}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" }}
{{- else if contains $name .Release.Name }}
{{- .Release.Name | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" }}
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

{{- define "kube-netfilter-tailer.serviceAccountName" -}}
{{- if .Values.serviceAccount.create }}
{{- .Values.serviceAccount.name | default (include "kube-netfilter-tailer.fullname" .) }}
{{- else }}
{{- .Values.serviceAccount.name | default "default" }}
{{- end }}
{{- end }}

{{- define "kube-netfilter-tailer.priorityClassName" -}}
{{- if .Values.priorityClass.create }}
{{- .Values.priorityClass.name | default (include "kube-netfilter-tailer.clusterName" .) }}
{{- else }}
{{- .Values.priorityClass.name }}
{{- end }}
{{- end }}

{{- define "kube-netfilter-tailer.selectorLabels" -}}
app.kubernetes.io/name: {{ include "kube-netfilter-tailer.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "kube-netfilter-tailer.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "kube-netfilter-tailer.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- /* Queries of deploy/monitoring with this release's names. The operator makes the job NAMESPACE/NAME of a PodMonitor. */}}
{{- define "kube-netfilter-tailer.ownNames" -}}
{{- $fullname := include "kube-netfilter-tailer.fullname" (first .) }}
{{- $text := last . | replace ".*kube-netfilter-tailer.*" (printf ".*%s.*" $fullname) }}
{{- $text = $text | replace "daemonset kube-netfilter-tailer" (printf "daemonset %s" $fullname) }}
{{- regexReplaceAll `(daemonset|created_by_name)=(\\?")kube-netfilter-tailer\b` $text (printf "${1}=${2}%s" $fullname) }}
{{- end }}
