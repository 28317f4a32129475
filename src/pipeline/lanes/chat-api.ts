/** By which API of its upstream a chat goes: chat completions, or OpenAI's Responses (docs/decisions/0017). */
import type { ChatRequest } from '../../core/chat.ts'
import { nativeProfile } from '../../core/deployment.ts'
import type { Deployment } from '../../core/deployment.ts'
import type { ChatAdapter, Dialect } from '../../core/provider.ts'
import type { JsonBody } from '../../lib/json/json-body.ts'
import { isObject } from '../../lib/json/json-values.ts'

/**
 * The adapter for this request. What a client asked for as a Response goes to the upstream as one, where it has them.
 * undefined = the upstream has no chats.
 */
export function chatAdapterOf(deployment: Deployment, request: ChatRequest): ChatAdapter | undefined {
  const { target, profile } = deployment
  const { chat, chatByResponses, speaks } = target.provider
  if (!chatByResponses) return chat
  const { tools, reasoning, extra } = request
  const isResponse = extra.format === 'openai-responses' && speaks['openai-responses'] && profile === nativeProfile
  return isResponse || takesResponses(deployment, (tools?.length ?? 0) > 0, reasoning?.effort)
    ? chatByResponses(target)
    : chat
}

/** The same for a body that may be forwarded, without decoding it: true = it has to be translated to Responses. */
export function needsResponses(deployment: Deployment, dialect: Dialect, body: JsonBody): boolean {
  const { responsesOnly } = deployment
  if (responsesOnly === undefined) return false
  if (dialect === 'openai-completions') return responsesOnly === 'everything'
  return dialect === 'openai-chat' && takesResponses(deployment, hasTools(body), effortOf(body))
}

function takesResponses({ responsesOnly }: Deployment, tools: boolean, effort: unknown): boolean {
  switch (responsesOnly) {
    case undefined:
      return false
    case 'tools-with-effort':
      return tools && effort !== undefined && effort !== 'none'
    case 'tools-unless-effort-none':
      return tools && effort !== 'none'
    case 'tools':
      return tools
    case 'everything':
      return true
  }
}

function hasTools(body: JsonBody): boolean {
  return ['tools', 'functions'].some(field => {
    const value = body.get(field)
    return Array.isArray(value) && value.length > 0
  })
}

/** As the decoder has it: the first of the two spellings counts. */
function effortOf(body: JsonBody): unknown {
  const reasoning = body.get('reasoning')
  return body.get('reasoning_effort') ?? (isObject(reasoning) ? (reasoning.effort ?? undefined) : undefined)
}
