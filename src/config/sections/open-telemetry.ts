/** What a collector of OpenTelemetry is told, and how. */
import { z } from 'zod'
import { otlpSignals } from '../../core/open-telemetry.ts'
import type { OpenTelemetrySettings, OtlpSignal, TraceSampling } from '../../core/open-telemetry.ts'
import { settingKeys, withDefaults } from '../../core/setting-keys.ts'
import type { Values } from '../../core/setting-keys.ts'
import type { Environment } from '../environment.ts'

const usedWith = { path: 'general_settings.open_telemetry.endpoint' }

const collectorKeys = settingKeys('general', {
  endpoint: {
    type: () => z.url({ protocol: /^https?$/ }),
    description:
      'The address of a collector that takes OTLP over HTTP, to which `/v1/traces`, `/v1/metrics` and `/v1/logs` are ' +
      'added.',
    example: 'http://collector.internal:4318',
    fillingVariables: ['OTEL_EXPORTER_OTLP_ENDPOINT'],
    secret: 'path',
  },
  headers: {
    type: () => z.record(z.string().regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/, 'is no name of a header'), z.string()),
    description: 'The headers that every request to the collector has, such as a key.',
    example: { 'x-tenant': 'gateways' },
    usedWith,
    fillingVariables: ['OTEL_EXPORTER_OTLP_HEADERS'],
    secret: 'members',
  },
  protocol: {
    type: () => z.enum(['http/protobuf', 'http/json']),
    default: 'http/protobuf',
    description: 'How what is sent to the collector is written; OTLP over gRPC is not spoken.',
    example: 'http/json',
    usedWith,
    fillingVariables: ['OTEL_EXPORTER_OTLP_PROTOCOL'],
  },
  signals: {
    type: () => z.array(z.enum(otlpSignals)).min(1),
    default: [...otlpSignals],
    description:
      'What the collector gets. `OTEL_TRACES_EXPORTER`, `OTEL_METRICS_EXPORTER` and `OTEL_LOGS_EXPORTER` take one ' +
      'away where they are `none`.',
    example: ['traces', 'metrics'],
    usedWith,
  },
  sample_ratio: {
    type: () => z.number().min(0).max(1),
    description:
      'The part of the calls whose spans are sent, 0 to 1, where the client does not decide it by the flag of its ' +
      'own span. Left out: as `OTEL_TRACES_SAMPLER` says, else all. Failed and slow calls are always sent.',
    example: 0.1,
    usedWith,
  },
  slow_seconds: {
    type: () => z.number().min(0.001).max(86_400),
    default: 60,
    description: 'A call that takes so many seconds has its spans sent whatever `sample_ratio` says.',
    example: 30,
    usedWith,
  },
  sends_content: {
    type: () => z.boolean(),
    default: false,
    description:
      'true: what was said in a call is sent too, as an event of its span, where its bodies are stored ' +
      '(docs/stored-bodies.md).',
    example: true,
    usedWith,
    fillingVariables: ['OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT'],
  },
})

/** Keys of `general_settings`. */
export const openTelemetryKeys = settingKeys('general', {
  open_telemetry: {
    keys: collectorKeys,
    description:
      'Tells a collector of OpenTelemetry of calls, by spans, metrics and log records over OTLP/HTTP. It is read at ' +
      'the start, and the variables `OTEL_...` fill in what is left out (docs/telemetry.md).',
    example: { endpoint: 'http://collector.internal:4318' },
    isReadAtStart: true,
  },
})

/** null = no collector is told of anything. */
export function openTelemetryOf(
  { open_telemetry: written = {} }: Values<typeof openTelemetryKeys>,
  environment: Environment,
): OpenTelemetrySettings | null {
  const own: Record<string, string> = {}
  for (const [name, value] of Object.entries(environment)) if (name.startsWith('OTEL_') && value) own[name] = value
  const given = withDefaults(collectorKeys, written)
  const isNamed = Object.keys(own).some(name => /^OTEL_EXPORTER_OTLP_(\w+_)?ENDPOINT$/.test(name))
  if (own.OTEL_SDK_DISABLED?.toLowerCase() === 'true' || (!given.endpoint && !isNamed)) return null
  const signals = given.signals.filter(
    signal => own[`OTEL_${signal.toUpperCase()}_EXPORTER`] !== 'none' && (given.endpoint || hasEndpoint(own, signal)),
  )
  if (signals.length === 0) return null
  const file: Record<string, string> = {
    ...(given.endpoint && { OTEL_EXPORTER_OTLP_ENDPOINT: given.endpoint }),
    ...(given.headers && { OTEL_EXPORTER_OTLP_HEADERS: headerList(given.headers) }),
  }
  if (written.protocol) delete own.OTEL_EXPORTER_OTLP_PROTOCOL
  if (written.protocol && written.protocol !== collectorKeys.protocol.default)
    file.OTEL_EXPORTER_OTLP_PROTOCOL = written.protocol
  return {
    signals,
    sampling: { ...samplerOf(own, given.sample_ratio), slowMs: given.slow_seconds * 1000 },
    sendsContent: written.sends_content ?? isTrue(own.OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT),
    variables: { ...own, ...file },
  }
}

const isTrue = (text: string | undefined): boolean => text?.toLowerCase() === 'true'

/** What is wrong with the variables `OTEL_...`; undefined = nothing that the gateway reads. */
export function openTelemetryProblem(settings: OpenTelemetrySettings | null): string | undefined {
  if (!settings) return undefined
  const { variables } = settings
  for (const name of ['', ...otlpSignals.map(signal => `${signal.toUpperCase()}_`)]) {
    const variable = `OTEL_EXPORTER_OTLP_${name}PROTOCOL`
    const protocol = variables[variable]
    if (protocol !== undefined && protocol !== 'http/protobuf' && protocol !== 'http/json')
      return `${variable} is '${protocol}': the gateway speaks http/protobuf and http/json; set one of these`
  }
  const sampler = variables.OTEL_TRACES_SAMPLER
  if (sampler !== undefined && !samplers.has(sampler))
    return `OTEL_TRACES_SAMPLER is '${sampler}': it must be one of ${[...samplers].join(', ')}`
  const ratio = variables.OTEL_TRACES_SAMPLER_ARG
  if (ratio !== undefined && !(Number(ratio) >= 0 && Number(ratio) <= 1))
    return `OTEL_TRACES_SAMPLER_ARG is '${ratio}': it must be a number from 0 to 1`
  return undefined
}

function hasEndpoint(variables: Record<string, string>, signal: OtlpSignal): boolean {
  return (
    variables.OTEL_EXPORTER_OTLP_ENDPOINT !== undefined ||
    variables[`OTEL_EXPORTER_OTLP_${signal.toUpperCase()}_ENDPOINT`] !== undefined
  )
}

const headerList = (headers: Readonly<Record<string, string>>): string =>
  Object.entries(headers)
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
    .join(',')

/** https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/ */
const samplers: ReadonlySet<string> = new Set([
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
])

function samplerOf(
  { OTEL_TRACES_SAMPLER: sampler = 'parentbased_always_on', OTEL_TRACES_SAMPLER_ARG: part }: Record<string, string>,
  written: number | undefined,
): Pick<TraceSampling, 'ratio' | 'followsParent'> {
  if (written !== undefined) return { ratio: written, followsParent: true }
  const followsParent = sampler.startsWith('parentbased_')
  if (sampler.endsWith('traceidratio')) return { ratio: part === undefined ? 1 : Number(part), followsParent }
  return { ratio: sampler.endsWith('always_off') ? 0 : 1, followsParent }
}
