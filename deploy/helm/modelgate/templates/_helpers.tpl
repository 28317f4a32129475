{{- define "modelgate.fullname" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 52 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 52 | trimSuffix "-" }}{{ end }}
{{- end }}
{{- define "modelgate.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
{{- define "modelgate.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
app.kubernetes.io/version: {{ .Values.image.tag | default .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{ include "modelgate.selector" . }}
{{- end }}
{{- define "modelgate.serviceAccount" -}}
{{- if .Values.serviceAccount.create }}{{ .Values.serviceAccount.name | default (include "modelgate.fullname" .) }}{{ else }}{{ .Values.serviceAccount.name | default "default" }}{{ end }}
{{- end }}
{{- define "modelgate.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}
{{- define "modelgate.env" -}}
- name: HOST
  value: 0.0.0.0
- name: PORT
  value: '4000'
- name: MODELGATE_DATA_DIR
  value: /data
- name: MODELGATE_CONFIG
  value: /etc/modelgate/config.yaml
- name: MODELGATE_DRAIN_DELAY_MS
  value: {{ .Values.drainDelayMs | quote }}
- name: MODELGATE_DRAIN_MS
  value: {{ sub (mul (sub (int .Values.terminationGracePeriodSeconds) 10) 1000) (int .Values.drainDelayMs) | quote }}
{{- if .Values.database.existingSecret }}
- name: DATABASE_URL
  valueFrom:
    secretKeyRef: { name: {{ .Values.database.existingSecret }}, key: {{ .Values.database.key }} }
{{- end }}
{{- if .Values.redis.existingSecret }}
- name: REDIS_URL
  valueFrom:
    secretKeyRef: { name: {{ .Values.redis.existingSecret }}, key: {{ .Values.redis.key }} }
{{- end }}
{{- with .Values.openTelemetry.endpoint }}
- name: OTEL_EXPORTER_OTLP_ENDPOINT
  value: {{ . | quote }}
{{- end }}
{{- with .Values.env }}
{{ toYaml . }}
{{- end }}
{{- end }}
{{- define "modelgate.envFrom" -}}
{{- range .Values.existingSecrets }}
- secretRef: { name: {{ . }} }
{{- end }}
{{- end }}
{{- define "modelgate.check" -}}
{{- $many := or (gt (int .Values.replicaCount) 1) .Values.autoscaling.enabled }}
{{- if and $many (not .Values.database.existingSecret) }}{{ fail "more than one replica needs Postgres: set database.existingSecret, or replicaCount: 1" }}{{ end }}
{{- if and $many (not .Values.redis.existingSecret) }}{{ fail "more than one replica needs Redis, by which limits are shared: set redis.existingSecret, or replicaCount: 1" }}{{ end }}
{{- if and (not .Values.database.existingSecret) (not .Values.persistence.enabled) }}{{ fail "without Postgres the database is a file in the data directory: set persistence.enabled, or database.existingSecret" }}{{ end }}
{{- if le (mul (int .Values.terminationGracePeriodSeconds) 1000) (int (add 10000 (int .Values.drainDelayMs))) }}{{ fail "terminationGracePeriodSeconds must be longer than drainDelayMs and ten seconds" }}{{ end }}
{{- end }}
