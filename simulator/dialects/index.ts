/** From a request to the answer a vendor would give, by its path and dialect. */
import { anthropicModels, anthropicUsage, countedTokens, readMessages, writeMessage } from './anthropic/messages.ts'
import { BadRequest, isJson, nothingToBill } from '../generation/types.ts'
import type { Answer, Json } from '../generation/types.ts'
import { azureChat } from './azure/chat.ts'
import { bedrockConverse, bedrockCount } from './bedrock/converse.ts'
import { bedrockInvoke } from './bedrock/invoke.ts'
import { think } from '../generation/generate.ts'
import { cohereChat } from './cohere/chat.ts'
import { cohereEmbed } from './cohere/embed.ts'
import type { Fault } from '../faults/fault.ts'
import { geminiGenerate } from './gemini/generate-content.ts'
import { geminiCount, geminiEmbed, geminiEmbeds, geminiModels, geminiPredict } from './gemini/embeddings.ts'
import { mistralChat, mistralEmbeddings, mistralFillIn, mistralModerations } from './mistral/endpoints.ts'
import { ollamaChat, ollamaEmbed, ollamaModels } from './ollama/endpoints.ts'
import { openaiSpeech, openaiTranscriptions } from './openai/audio.ts'
import { openaiUsage, readChat, writeChat } from './openai/chat.ts'
import { readCompletion, writeCompletion } from './openai/completions.ts'
import type { KeptFiles } from './openai/files.ts'
import { openaiImages } from './openai/images.ts'
import { openaiModerations } from './openai/moderations.ts'
import { answerEmbeddings, openaiModels } from './openai/embeddings.ts'
import { inputTokens, openaiResponses } from './openai/responses.ts'
import type { Endpoint, Route } from '../server/routes.ts'
import type { HttpRequest } from '../server/request-parser.ts'
import { rerank } from './rerank.ts'
import type { ScriptedReply } from '../script/script.ts'
import { usageUnder } from '../faults/apply.ts'
import type { Answerer, Talk } from './endpoint.ts'
import { wordsOf } from './conventions.ts'
import type { Dialect } from './conventions.ts'

/** A request with all that decides about its answer. */
interface Question {
  readonly request: HttpRequest
  readonly route: Route
  /** Parsed JSON or the fields of a form; undefined when there was neither. */
  readonly body: unknown
  /** Without the fault suffix; empty when the request names none. */
  readonly model: string
  readonly seed: number
  readonly fault: Fault | undefined
  readonly script: ScriptedReply | undefined
  /** What was uploaded. */
  readonly files: KeptFiles
}

const openaiChat: Answerer = ({ body, model, think: answer, usageOf }) =>
  writeChat(answer(readChat(body, model)), body, usageOf(openaiUsage))

/** Voyage has another name for the length of vectors. */
const openaiEmbeddings: Answerer = ({ body, model, seed, usageOf }) =>
  answerEmbeddings(
    { ...body, dimensions: body.dimensions ?? body.output_dimension },
    { model, seed, usageOf: usageOf(openaiUsage) },
  )

/** What does not depend on the dialect, or has a path of its own. */
const common: Record<Exclude<Endpoint, 'models' | 'ollama-models' | 'files'>, Answerer> = {
  chat: openaiChat,
  completions: ({ body, model, think: answer, usageOf }) =>
    writeCompletion(readCompletion(body, model).map(answer), body, usageOf(openaiUsage)),
  'fill-in': mistralFillIn,
  embeddings: openaiEmbeddings,
  responses: openaiResponses,
  'input-tokens': inputTokens,
  moderations: openaiModerations,
  images: openaiImages,
  'image-forms': openaiImages,
  speech: openaiSpeech,
  transcriptions: openaiTranscriptions,
  messages: ({ body, model, think: answer, usageOf }) =>
    writeMessage(answer(readMessages(body, model)), body, usageOf(anthropicUsage)),
  'count-tokens': ({ body, model }) => countedTokens(readMessages(body, model, false)),
  rerank: rerank,
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

/** Vendors that answer one of OpenAI's paths in their own way. */
const own: Partial<Record<Dialect, Partial<Record<Endpoint, Answerer>>>> = {
  azure: { chat: azureChat },
  mistral: { chat: mistralChat, embeddings: mistralEmbeddings, moderations: mistralModerations },
}

function bodyOf(question: Question): Json {
  const { body, request, route, model } = question
  if (request.method !== 'POST') {
    const hint = '(HINT: Perhaps you meant to use a different HTTP method?)'
    const message = `Not allowed to ${request.method} on ${request.target} ${hint}`
    throw new BadRequest(message, { status: 405 })
  }
  if (!isJson(body))
    throw new BadRequest(
      'We could not parse the JSON body of your request. (HINT: This likely means you ' +
        "aren't using your HTTP library correctly. The API expects a JSON payload.)",
    )
  if (model !== '') return body
  throw new BadRequest(wordsOf(route.dialect).noModel ?? 'you must provide a model parameter')
}

function raw(script: ScriptedReply): Answer {
  const { status = 200, headers = {}, body } = script.raw!
  const list = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const)
  return { status, headers: list, content: body, billable: nothingToBill }
}

function modelsIn(dialect: Dialect, model: string | undefined): Answer {
  if (dialect === 'anthropic') return anthropicModels(model)
  return dialect === 'gemini' ? geminiModels(model) : openaiModels(model)
}

/** The answer a vendor would give. Throws BadRequest for what a vendor would refuse. */
export function answerOf(question: Question): Answer {
  const { route, model, seed, fault, script, request } = question
  if (script?.raw) return raw(script)
  const { endpoint, dialect } = route
  if (endpoint === undefined) throw new BadRequest(`Invalid URL (${request.method} ${request.target})`, { status: 404 })
  if (endpoint === 'models') return modelsIn(dialect, route.model)
  if (endpoint === 'ollama-models') return ollamaModels()
  if (endpoint === 'files') return question.files.answer(request, question.body)
  const talk: Talk = {
    request,
    body: bodyOf(question),
    model,
    seed,
    streams: route.streams,
    think: ask => think(ask, seed, script),
    usageOf: write => usageUnder(fault, write),
  }
  return (own[dialect]?.[endpoint] ?? common[endpoint])(talk)
}
