/** From a request to the answer a vendor would give, by its path and dialect. */
import { anthropicModels, anthropicUsage, countedTokens, readMessages, writeMessage } from './anthropic.ts'
import { BadRequest, isJson } from './ask.ts'
import type { Answer, Ask, Json, Reply } from './ask.ts'
import { think } from './brain.ts'
import type { Fault } from './faults.ts'
import { openaiUsage, readChat, writeChat } from './openai-chat.ts'
import { readCompletion, writeCompletion } from './openai-completions.ts'
import { answerEmbeddings, openaiModels } from './openai-other.ts'
import type { HttpRequest } from './request-parser.ts'
import type { ScriptedReply } from './script.ts'
import { usageUnder } from './spoil.ts'
import type { Dialect } from './spoil.ts'

export type Endpoint = 'chat' | 'completions' | 'embeddings' | 'models' | 'messages' | 'count-tokens'

export interface Route {
  readonly endpoint: Endpoint | undefined
  readonly dialect: Dialect
  /** The model a path names: `/models/{model}`, `/deployments/{model}/...`, `/engines/{model}/...`. */
  readonly model?: string
}

const ends: [RegExp, Endpoint][] = [
  [/\/chat\/completions\/?$/, 'chat'],
  [/\/completions\/?$/, 'completions'],
  [/\/embeddings\/?$/, 'embeddings'],
  [/\/messages\/count_tokens\/?$/, 'count-tokens'],
  [/\/messages\/?$/, 'messages'],
  [/\/models(?:\/.*)?$/, 'models'],
]

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Where a request goes: the end of its path decides, whatever stands before. */
export function routeOf(request: HttpRequest): Route {
  const path = request.target.split('?', 1)[0]!
  const endpoint = ends.find(([end]) => end.test(path))?.[1]
  const isMessages = endpoint === 'messages' || endpoint === 'count-tokens'
  const dialect = isMessages || request.headers.has('anthropic-version') ? 'anthropic' : 'openai'
  const named =
    endpoint === 'models' ? /\/models\/(.+)$/.exec(path) : /\/(?:deployments|engines)\/([^/]+)\//.exec(path)
  return { endpoint, dialect, model: named ? decoded(named[1]!) : undefined }
}

export interface Question {
  readonly request: HttpRequest
  readonly route: Route
  /** Parsed JSON; undefined when there was none or it was not JSON. */
  readonly body: unknown
  /** Without the fault suffix; empty when the request names none. */
  readonly model: string
  readonly seed: number
  readonly fault: Fault | undefined
  readonly script: ScriptedReply | undefined
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
  throw new BadRequest(
    route.dialect === 'anthropic' ? 'model: Field required' : 'you must provide a model parameter',
  )
}

function raw(script: ScriptedReply): Answer {
  const { status = 200, headers = {}, body } = script.raw!
  const list = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const)
  return { status, headers: list, content: body, billable: { inputTokens: 0, outputTokens: 0 } }
}

/** The answer a vendor would give. Throws BadRequest for what a vendor would refuse. */
export function answerOf(question: Question): Answer {
  const { route, model, seed, fault, script, request } = question
  if (script?.raw) return raw(script)
  if (route.endpoint === undefined)
    throw new BadRequest(`Invalid URL (${request.method} ${request.target})`, { status: 404 })
  if (route.endpoint === 'models')
    return route.dialect === 'anthropic' ? anthropicModels(route.model) : openaiModels(route.model)
  const body = bodyOf(question)
  const answer = (ask: Ask): Reply => think(ask, seed, script)
  const usage = usageUnder(fault, openaiUsage)
  switch (route.endpoint) {
    case 'chat':
      return writeChat(answer(readChat(body, model)), body, usage)
    case 'completions':
      return writeCompletion(readCompletion(body, model).map(answer), body, usage)
    case 'embeddings':
      return answerEmbeddings(body, { model, seed, usageOf: usage })
    case 'count-tokens':
      return countedTokens(readMessages(body, model, false))
    case 'messages':
      return writeMessage(answer(readMessages(body, model)), body, usageUnder(fault, anthropicUsage))
  }
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  return Array.isArray(content)
    ? content.map(part => (isJson(part) && typeof part.text === 'string' ? part.text : '')).join('')
    : ''
}

/** The text of the user's last words, for scripts to match; of a prompt or input when there are no messages. */
export function lastText(body: unknown): string {
  if (!isJson(body)) return ''
  if (!Array.isArray(body.messages)) return textOf(body.prompt) || textOf(body.input)
  const user = body.messages.findLast(message => isJson(message) && message.role === 'user')
  return isJson(user) ? textOf(user.content) : ''
}
