/** Selects the endpoint handler by path and dialect. */
import {
  anthropicModels,
  anthropicUsage,
  tokenCountResponse,
  readMessages,
  writeMessage,
} from './anthropic/messages.ts'
import { ApiError, unbilled } from './response.ts'
import { isJsonObject } from '../lib/json.ts'
import type { SimulatedResponse } from './response.ts'
import type { JsonObject } from '../lib/json.ts'
import { azureChat } from './azure/chat.ts'
import { bedrockConverse, bedrockCount } from './bedrock/converse.ts'
import { bedrockInvoke } from './bedrock/invoke.ts'
import { generate } from '../generation/generate.ts'
import type { PromptCaches } from '../generation/prompt-caches.ts'
import type { Generation } from '../generation/types.ts'
import { cohereChat } from './cohere/chat.ts'
import { cohereEmbed } from './cohere/embed.ts'
import type { Fault } from '../faults/fault.ts'
import { geminiGenerate } from './gemini/generate-content.ts'
import { geminiCount, geminiEmbed, geminiEmbeds, geminiModels, geminiPredict } from './gemini/embeddings.ts'
import { mistralChat, mistralEmbeddings, mistralFillIn, mistralModerations } from './mistral/endpoints.ts'
import { ollamaChat, ollamaEmbed, ollamaModels } from './ollama/endpoints.ts'
import { openaiSpeech, openaiTranscriptions } from './openai/audio.ts'
import { openaiUsage, readChat, writeChat } from './openai/chat.ts'
import { hostBody, hostResponse } from './openai/host-rules.ts'
import { readCompletion, writeCompletion } from './openai/completions.ts'
import type { AnswerLine, Batches } from './openai/batches.ts'
import type { UploadedFiles } from './openai/files.ts'
import { openaiError } from './openai/error.ts'
import { openaiImages } from './openai/images.ts'
import { openaiModerations } from './openai/moderations.ts'
import { answerEmbeddings, openaiModels } from './openai/embeddings.ts'
import { inputTokens, openaiResponses } from './openai/responses.ts'
import { matchRoute } from '../server/routes.ts'
import type { Endpoint, Route } from '../server/routes.ts'
import type { HttpRequest } from '../server/request-parser.ts'
import { rerank } from './rerank.ts'
import type { ScriptedReply } from '../script/script.ts'
import { usageWithFault } from '../faults/apply.ts'
import type { EndpointHandler, EndpointCall } from './endpoint.ts'
import { conventionsOf } from './conventions.ts'
import type { Dialect } from './conventions.ts'

/** A request with everything that decides its response. */
interface RoutedRequest {
  readonly request: HttpRequest
  readonly route: Route
  /** Parsed JSON or the fields of a form; undefined when the body is neither. */
  readonly body: unknown
  /** Without the fault suffix; empty when the request names no model. */
  readonly model: string
  readonly seed: number
  readonly fault: Fault | undefined
  readonly script: ScriptedReply | undefined
  readonly files: UploadedFiles
  readonly batches: Batches
  /** undefined = prompts are not cached, but for what their directives say. */
  readonly caches: PromptCaches | undefined
}

const openaiChat: EndpointHandler = ({ body, model, host, generate: answer, usageOf }) => {
  const accepted = host === undefined ? body : hostBody(host, model, body)
  return writeChat(answer(readChat(accepted, model)), body, usageOf(openaiUsage))
}

/** Voyage calls the number of dimensions `output_dimension`. */
const openaiEmbeddings: EndpointHandler = ({ body, model, seed, usageOf }) =>
  answerEmbeddings(
    { ...body, dimensions: body.dimensions ?? body.output_dimension },
    { model, seed, usageOf: usageOf(openaiUsage) },
  )

/** Handlers that do not depend on the dialect, or whose path belongs to one vendor. */
const handlers: Record<Exclude<Endpoint, 'models' | 'ollama-models' | 'files' | 'batches'>, EndpointHandler> = {
  chat: openaiChat,
  completions: ({ body, model, generate: answer, usageOf }) =>
    writeCompletion(readCompletion(body, model).map(answer), body, usageOf(openaiUsage)),
  'fill-in': mistralFillIn,
  embeddings: openaiEmbeddings,
  responses: call =>
    openaiResponses(call.host === undefined ? call : { ...call, body: hostResponse(call.host, call.model, call.body) }),
  'input-tokens': inputTokens,
  moderations: openaiModerations,
  images: openaiImages,
  'image-forms': openaiImages,
  speech: openaiSpeech,
  transcriptions: openaiTranscriptions,
  messages: ({ body, model, generate: answer, usageOf }) =>
    writeMessage(answer(readMessages(body, model)), body, usageOf(anthropicUsage)),
  'count-tokens': ({ body, model }) => tokenCountResponse(readMessages(body, model, false)),
  rerank,
  'gemini-generate': geminiGenerate,
  'gemini-count': geminiCount,
  'gemini-embed': geminiEmbed,
  'gemini-embeds': geminiEmbeds,
  'gemini-predict': geminiPredict,
  'cohere-chat': cohereChat,
  'cohere-embed': cohereEmbed,
  'ollama-chat': ollamaChat,
  'ollama-embed': ollamaEmbed,
  'bedrock-converse': bedrockConverse,
  'bedrock-invoke': bedrockInvoke,
  'bedrock-count': bedrockCount,
}

/** Vendors that handle one of OpenAI's paths differently. */
const dialectHandlers: Partial<Record<Dialect, Partial<Record<Endpoint, EndpointHandler>>>> = {
  azure: { chat: azureChat },
  mistral: { chat: mistralChat, embeddings: mistralEmbeddings, moderations: mistralModerations },
}

function checkedBody(routed: RoutedRequest): JsonObject {
  const { body, request, route, model } = routed
  if (request.method !== 'POST') {
    const hint = '(HINT: Perhaps you meant to use a different HTTP method?)'
    const message = `Not allowed to ${request.method} on ${request.target} ${hint}`
    throw new ApiError(message, { status: 405 })
  }
  if (!isJsonObject(body))
    throw new ApiError(
      'We could not parse the JSON body of your request. (HINT: This likely means you ' +
        "aren't using your HTTP library correctly. The API expects a JSON payload.)",
    )
  if (model !== '') return body
  throw new ApiError(conventionsOf(route.dialect).missingModelMessage ?? 'you must provide a model parameter')
}

function rawResponse(script: ScriptedReply): SimulatedResponse {
  const { status = 200, headers = {}, body } = script.raw!
  const list = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const)
  return { status, headers: list, content: body, billable: unbilled }
}

function listModels(dialect: Dialect, model: string | undefined): SimulatedResponse {
  if (dialect === 'anthropic') return anthropicModels(model)
  return dialect === 'gemini' ? geminiModels(model) : openaiModels(model)
}

/** A line of a batch is answered like a request of its own. */
function answerLine(routed: RoutedRequest): AnswerLine {
  return (target, body) => {
    const request = { ...routed.request, method: 'POST', target }
    const model = String(body.model ?? '').split('#', 1)[0]!
    try {
      const { status, content } = respond({
        ...routed,
        request,
        route: matchRoute(request),
        model,
        body: { ...body, stream: false },
      })
      return { status, body: typeof content === 'string' ? JSON.parse(content) : null }
    } catch (thrown) {
      if (!(thrown instanceof ApiError)) throw thrown
      return { status: thrown.status, body: openaiError({ ...thrown, status: thrown.status, message: thrown.message }) }
    }
  }
}

/** On these Claude and others keep what is marked, and nothing else. */
const markedEndpoints: ReadonlySet<Endpoint | undefined> = new Set(['messages', 'bedrock-converse'])
const accountHeaders = ['authorization', 'x-api-key', 'api-key', 'x-goog-api-key']

function withCaches({ caches, request, model, body, route }: RoutedRequest, made: Generation): Generation {
  if (!caches || !isJsonObject(body)) return made
  const account = accountHeaders.map(name => request.headers.get(name) ?? '').join(' ')
  const cached = caches.use({
    account,
    model,
    body,
    inputTokens: made.usage.inputTokens,
    isMarked: markedEndpoints.has(route.endpoint),
  })
  return { ...made, usage: { ...made.usage, ...cached } }
}

/** The response of the vendor. Throws ApiError where a vendor would refuse the request. */
export function respond(routed: RoutedRequest): SimulatedResponse {
  const { route, model, seed, fault, script, request } = routed
  if (script?.raw) return rawResponse(script)
  const { endpoint, dialect } = route
  if (endpoint === undefined) throw new ApiError(`Invalid URL (${request.method} ${request.target})`, { status: 404 })
  if (endpoint === 'models') return listModels(dialect, route.model)
  if (endpoint === 'ollama-models') return ollamaModels()
  if (endpoint === 'files') return routed.files.answer(request, routed.body)
  if (endpoint === 'batches') return routed.batches.answer(request, routed.body, answerLine(routed))
  const call: EndpointCall = {
    request,
    body: checkedBody(routed),
    model,
    seed,
    streams: route.streams,
    host: route.host,
    generate: ask => withCaches(routed, generate(ask, seed, script)),
    usageOf: write => usageWithFault(fault, write),
  }
  return (dialectHandlers[dialect]?.[endpoint] ?? handlers[endpoint])(call)
}
