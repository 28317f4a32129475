/** Deployments and calls for tests of the router. */
import type { Deployment } from '../../src/core/deployment.ts'
import type { Provider } from '../../src/core/provider.ts'
import type { Clock } from '../../src/lib/clock.ts'
import { openaiSpeech } from '../../src/formats/openai/speech.ts'
import { JsonBody } from '../../src/lib/json/json-body.ts'
import { CallRecord } from '../../src/pipeline/call-record.ts'

/** Whole answers, as JSON from the upstream. */
const provider = {
  name: 'p',
  speaks: {},
  speech: {
    request: () => ({ head: { url: 'http://x/speech', headers: {} }, body: {}, dropped: [] }),
    result: () => ({ audio: Buffer.from('RIFF'), mediaType: 'audio/wav' }),
  },
} as unknown as Provider

const noTimeouts = {
  connectMs: 0,
  firstByteMs: 0,
  firstEventMs: 0,
  idleMs: 0,
  firstContentMs: 0,
  contentMs: 0,
  totalMs: 0,
}

/** A deployment whose id is the name of its model. */
export const deployment = (id: string, fields: Partial<Deployment> = {}): Deployment =>
  ({
    id,
    modelName: 'm',
    target: { provider, model: id, headers: {}, options: {} },
    mode: 'audio_speech',
    weight: 1,
    order: 0,
    timeouts: noTimeouts,
    prices: null,
    dropParams: true,
    info: {},
    profile: { toolCalling: 'native', thinking: 'separate', structuredOutput: 'native' },
    ...fields,
  }) as Deployment

/** A call for speech with these settings of the router. */
export function speechCall(clock: Clock, router: object, candidates: readonly Deployment[]): CallRecord {
  const record = new CallRecord(
    {
      clock,
      current: undefined as never,
      tokenizer: { measure: () => Promise.resolve(undefined) },
    },
    {
      id: 'c',
      operation: 'speech',
      route: '/v1/audio/speech',
      caller: {},
      client: { clientAddress: '', left: false, onLeft() {} },
      userAgent: '',
      clientAddress: '',
      format: openaiSpeech,
      options: {},
      announcedBytes: undefined,
      models: { settings: { router } },
    } as unknown as ConstructorParameters<typeof CallRecord>[1],
  )
  record.body = JsonBody.read(Buffer.from(JSON.stringify({ model: 'm', input: 'hello', voice: 'v' })))
  record.model = 'm'
  record.candidates = candidates
  return record
}
