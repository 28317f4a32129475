import { expect, test } from 'bun:test'
import { openTelemetryOf, openTelemetryProblem } from './open-telemetry.ts'

const endpoint = 'http://collector:4318'
const of = (file: object, environment: Record<string, string> = {}) =>
  openTelemetryOf({ open_telemetry: file }, environment)

test('there is no collector without an address, or where the SDK is disabled', () => {
  expect(openTelemetryOf({}, {})).toBeNull()
  expect(openTelemetryOf({}, { OTEL_SERVICE_NAME: 'x' })).toBeNull()
  expect(of({ endpoint }, { OTEL_SDK_DISABLED: 'true' })).toBeNull()
  expect(of({ endpoint }, { OTEL_TRACES_EXPORTER: 'none' })?.signals).toEqual(['metrics', 'logs'])
})

test('an address of one signal is for that signal alone', () => {
  expect(openTelemetryOf({}, { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: endpoint })?.signals).toEqual(['traces'])
})

test('the file wins over the variables, in their own words', () => {
  const settings = of(
    { endpoint, headers: { authorization: 'Bearer a b' }, protocol: 'http/json' },
    { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://other', OTEL_BSP_MAX_QUEUE_SIZE: '9', PATH: '/bin' },
  )
  expect(settings?.variables).toEqual({
    OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20a%20b',
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_BSP_MAX_QUEUE_SIZE: '9',
  })
})

test('samplers are those of OpenTelemetry, and a client decides unless one says otherwise', () => {
  const sampling = (environment: Record<string, string>, file = {}) => of({ endpoint, ...file }, environment)?.sampling
  expect(sampling({})).toMatchObject({ ratio: 1, followsParent: true, slowMs: 60_000 })
  expect(sampling({ OTEL_TRACES_SAMPLER: 'always_off' })).toMatchObject({ ratio: 0, followsParent: false })
  expect(sampling({ OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.25' })).toMatchObject({
    ratio: 0.25,
    followsParent: false,
  })
  expect(sampling({ OTEL_TRACES_SAMPLER: 'always_off' }, { sample_ratio: 0.5, slow_seconds: 2 })).toEqual({
    ratio: 0.5,
    followsParent: true,
    slowMs: 2000,
  })
})

test('variables that cannot be followed are refused with their name and what is possible', () => {
  const problem = (environment: Record<string, string>) => openTelemetryProblem(of({ endpoint }, environment))
  expect(problem({})).toBeUndefined()
  expect(problem({ OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' })).toContain('http/protobuf and http/json')
  expect(problem({ OTEL_EXPORTER_OTLP_LOGS_PROTOCOL: 'grpc' })).toContain('OTEL_EXPORTER_OTLP_LOGS_PROTOCOL')
  expect(problem({ OTEL_TRACES_SAMPLER: 'sometimes' })).toContain('parentbased_traceidratio')
  expect(problem({ OTEL_TRACES_SAMPLER_ARG: '2' })).toContain('from 0 to 1')
})
