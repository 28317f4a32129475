/**
 * `/utils/transform_request`: what would be sent to the upstream, without secrets. Nothing is sent or charged.
 */
import { z } from 'zod'
import type { Answer } from '../../../core/answer.ts'
import { isAdministrator } from '../../../core/caller.ts'
import type { Caller } from '../../../core/caller.ts'
import type { ModelCall, Services } from '../../../core/endpoint.ts'
import type { HttpRequest } from '../../../core/request.ts'
import type { GatewayError } from '../../../core/errors.ts'
import { toGatewayError } from '../../../core/errors.ts'
import type { Format } from '../../../core/format.ts'
import {
  anthropicMessages,
  geminiGenerate,
  jinaRerank,
  openaiChat,
  openaiCompletions,
  openaiEmbeddings,
  openaiImages,
  openaiModerations,
  openaiResponses,
  openaiSpeech,
} from '../../../formats/index.ts'
import { redacted } from '../../../lib/redact.ts'
import { lazy } from '../../../lib/lazy.ts'
import { anyObject, described, listOf, mapOf, named, nullable, shape, text } from '../../openapi/schema.ts'
import { answerOf } from '../../common/json-endpoint.ts'

/** A request as its upstream would get it, or why there is none. */
export const rawRequestSchema = named('RawRequest', () =>
  shape({
    raw_request_api_base: nullable(text),
    raw_request_body: nullable(anyObject),
    raw_request_headers: nullable(mapOf(text)),
    dropped_params: nullable(listOf(text)),
    error: nullable(described('Why there is no such request; all else is then null.', text)),
  }),
)

interface Kind {
  readonly format: Format
  readonly route: string
  readonly stream?: boolean
}

const kinds = {
  completion: { format: openaiChat, route: '/v1/chat/completions' },
  text_completion: { format: openaiCompletions, route: '/v1/completions' },
  responses: { format: openaiResponses, route: '/v1/responses' },
  anthropic_messages: { format: anthropicMessages, route: '/v1/messages' },
  generate_content: { format: geminiGenerate, route: '/v1beta/models/{model}:generateContent', stream: false },
  generate_content_stream: {
    format: geminiGenerate,
    route: '/v1beta/models/{model}:streamGenerateContent',
    stream: true,
  },
  embedding: { format: openaiEmbeddings, route: '/v1/embeddings' },
  rerank: { format: jinaRerank, route: '/v1/rerank' },
  moderation: { format: openaiModerations, route: '/v1/moderations' },
  image_generation: { format: openaiImages, route: '/v1/images/generations' },
  speech: { format: openaiSpeech, route: '/v1/audio/speech' },
} satisfies Record<string, Kind>

/** LiteLLM's names; `a...` are its asynchronous functions. */
const kindsByType: ReadonlyMap<string, Kind> = new Map(
  Object.entries(kinds).flatMap(([name, kind]): [string, Kind][] => [
    [name, kind],
    [`a${name}`, kind],
  ]),
)

/** All values of `call_type`. */
export const callTypes = [...kindsByType.keys()]

/** Bodies of these are forms with files. */
const formTypes: ReadonlySet<string> = new Set(
  ['transcription', 'translation', 'image_edit', 'image_variation'].flatMap(name => [name, `a${name}`]),
)

const wrongType = (given: unknown): string =>
  typeof given === 'string' && formTypes.has(given)
    ? 'takes a form with files, which cannot be shown as JSON'
    : `must be one of ${callTypes.join(', ')}`

/** The body. `request_body` is checked by the format of its `call_type`. */
export const transformBody = lazy(() =>
  z.strictObject({
    call_type: z.enum(callTypes as [string, ...string[]], { error: issue => wrongType(issue.input) }),
    request_body: z.record(z.string(), z.unknown()),
  }),
)

type TransformBody = z.infer<ReturnType<typeof transformBody>>

/** A failed transformation is an answer, as in LiteLLM; missing permission stays an error. */
export async function transformRequest(
  request: HttpRequest,
  services: Services,
  caller: Caller,
  { call_type: type, request_body: fields }: TransformBody,
): Promise<Answer> {
  const { format, route, stream } = kindsByType.get(type)!
  const { model, ...rest } = fields
  if (model !== undefined && typeof model !== 'string')
    return failure('`request_body.model` must be a string, the name of a model')
  const call: ModelCall = { format, route, model, stream }
  // Dialects with the model in the path have no field for it in the body.
  const body = format.forward.modelInPath ? rest : fields
  try {
    const preview = await services.previewCall(request, caller, call, Buffer.from(JSON.stringify(body)))
    const { target } = preview.deployment
    // The operator's addresses are shown to administrators only, as in /v1/model/info.
    const isPublic = isAdministrator(caller) || target.baseUrl === target.provider.defaultBaseUrl
    return answerOf(rawRequestSchema, {
      raw_request_api_base: isPublic ? preview.url : redacted,
      raw_request_body: preview.body as object,
      raw_request_headers: preview.headers,
      dropped_params: preview.dropped,
      error: null,
    })
  } catch (thrown) {
    const error = toGatewayError(thrown)
    if (error.kind === 'model-forbidden' || error.kind === 'internal') throw error
    return failure(explained(error))
  }
}

function explained({ message, problems = [] }: GatewayError): string {
  const more = problems.slice(1).map(({ loc, msg }) => `${loc.filter(part => part !== 'body').join('.')}: ${msg}`)
  return [message, ...more].join('; ')
}

function failure(error: string): Answer {
  return answerOf(rawRequestSchema, {
    raw_request_api_base: null,
    raw_request_body: null,
    raw_request_headers: null,
    dropped_params: null,
    error,
  })
}
