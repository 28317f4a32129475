/** Who judges what was sent to whom, as far as the vendors' packages for npm go. */
import { isAccepted } from './accepted.ts'
import type { Capture } from './capture.ts'
import type { ClientDialect } from './client-bodies.ts'
import { mistralDeviations } from './mistral-schema.ts'
import { typeDeviations } from './vendor-types.ts'
import type { VendorType } from './vendor-types.ts'

type Body = Readonly<Record<string, unknown>>

/** A verdict; empty `deviations` = the body is what the vendor's package describes. */
export interface Verdict {
  /** The package that judged. */
  readonly referee: string
  readonly deviations: readonly string[]
}

/** The types of clients' own bodies. Chat is more than OpenAI's: its further fields are the gateway's to keep back. */
const clientTypes: Readonly<Partial<Record<ClientDialect, VendorType>>> = {
  messages: 'AnthropicMessage',
  gemini: 'GeminiContent',
  responses: 'OpenaiResponseBody',
}

/**
 * The deviations that count: not those that are accepted, nor those that the client's own body has from its own dialect
 * and that reach an upstream of that dialect as they came.
 */
export function ownDeviations({ referee, deviations }: Verdict, { dialect, asked }: Capture): readonly string[] {
  const open = deviations.filter(one => !isAccepted(referee, one))
  const type = clientTypes[dialect]
  if (open.length === 0 || !type) return open
  const ofClient = new Set(typeDeviations(type, asked).map(kindOf))
  return open.filter(one => !ofClient.has(kindOf(one)))
}

/** Places move where something before them is left out, and packages word the same in other ways. */
const kindOf = (deviation: string): string => deviation.split(' ', 1)[0]!.replace(/\d+/g, 'N')

/** Vertex names the model in the path, and the version of the dialect in the body. */
function claudeBody({ anthropic_version: _, ...body }: Body, model: string): Body {
  return { model, ...body }
}

/** The verdict of the vendor's own package; undefined = it has none on npm. */
export function npmVerdict({ provider, model, path, body: sent }: Capture): Verdict | undefined {
  const body = sent as Body
  const [at = ''] = path.split('?')
  const typed = (referee: string, type: VendorType, value = body): Verdict => ({
    referee,
    deviations: typeDeviations(type, value),
  })
  if (at.endsWith('awPredict')) return typed('@anthropic-ai/sdk', 'AnthropicMessage', claudeBody(body, model))
  if (/:(?:stream)?generateContent$/i.test(at)) return typed('@google/genai', 'GeminiContent')
  if (provider === 'anthropic') return typed('@anthropic-ai/sdk', 'AnthropicMessage')
  if (provider === 'cohere') return typed('cohere-ai', 'CohereChat')
  if (provider === 'mistral') return { referee: '@mistralai/mistralai', deviations: mistralDeviations(body) }
  if (provider === 'groq' && at.endsWith('/chat/completions')) return typed('groq-sdk', 'GroqChatBody')
  if (provider !== 'openai' && provider !== 'azure') return undefined
  return typed('openai', at.endsWith('/responses') ? 'OpenaiResponseBody' : 'OpenaiChatBody')
}
