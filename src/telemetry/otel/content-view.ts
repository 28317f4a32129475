/**
 * What was said in a call, in the shape of the conventions (gen-ai-input-messages.json, gen-ai-output-messages.json:
 * messages with `role` and `parts`), read of what is stored of it in the dialect of the client.
 */
import type { CallContent, StoredBody } from '../../core/ledger/stored-bodies.ts'

/** JSON, or the text as it is stored where it is none; undefined = there is nothing. */
interface ReadContent {
  readonly input: string | undefined
  readonly output: string | undefined
  readonly system: string | undefined
}

type Json = Readonly<Record<string, unknown>>
type Part = Json & { readonly type: string }
interface Message {
  readonly role: string
  readonly parts: readonly Part[]
  readonly finish_reason?: string
}

/** In JSON. What is cut, or in a form that is not known, is given as one text. */
export function readContent({ request, answer }: CallContent): ReadContent {
  const body = parsed(request)
  const input = body && inputOf(body)
  const reply = answer ? parsed(answer) : undefined
  const output = reply && outputOf(reply)
  return {
    input: input ? JSON.stringify(input.messages) : plain('user', request),
    system: input && input.system.length > 0 ? JSON.stringify(input.system) : undefined,
    output: output ? JSON.stringify(output) : answer ? plain('assistant', answer) : undefined,
  }
}

function plain(role: string, { text }: StoredBody): string | undefined {
  return text === '' ? undefined : JSON.stringify([{ role, parts: [{ type: 'text', content: text }] }])
}

function parsed({ text, isCut }: StoredBody): Json | undefined {
  if (isCut || text === '') return undefined
  try {
    const value: unknown = JSON.parse(text)
    return isJson(value) ? value : undefined
  } catch {
    return undefined
  }
}

const isJson = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)
const listOf = (value: unknown): readonly Json[] => (Array.isArray(value) ? value.filter(isJson) : [])

function inputOf(body: Json): { messages: readonly Message[]; system: readonly Part[] } | undefined {
  const system = partsOf(body.system ?? body.instructions ?? systemOfGemini(body))
  // OpenAI's chats and Messages; Gemini; Responses, completions and embeddings.
  if (Array.isArray(body.messages)) return { system, messages: listOf(body.messages).map(messageOf) }
  if (Array.isArray(body.contents))
    return {
      system,
      messages: listOf(body.contents).map(one => ({ role: String(one.role ?? 'user'), parts: partsOf(one.parts) })),
    }
  const input = body.input ?? body.prompt
  if (input === undefined) return undefined
  if (!Array.isArray(input) || input.some(one => typeof one === 'string' || typeof one === 'number'))
    return { system, messages: [{ role: 'user', parts: partsOf(input) }] }
  return { system, messages: listOf(input).map(messageOf) }
}

const systemOfGemini = (body: Json): unknown => {
  const given = body.systemInstruction ?? body.system_instruction
  return isJson(given) ? given.parts : given
}

function outputOf(body: Json): readonly Message[] | undefined {
  if (Array.isArray(body.choices))
    return listOf(body.choices).map(one => ({
      ...(isJson(one.message) ? messageOf(one.message) : { role: 'assistant', parts: partsOf(one.text) }),
      finish_reason: String(one.finish_reason ?? 'stop'),
    }))
  if (Array.isArray(body.candidates))
    return listOf(body.candidates).map(one => ({
      role: 'assistant',
      parts: partsOf(isJson(one.content) ? one.content.parts : undefined),
      finish_reason: String(one.finishReason ?? 'stop').toLowerCase(),
    }))
  if (Array.isArray(body.output)) {
    const items = listOf(body.output)
    return [
      {
        role: 'assistant',
        parts: items.flatMap(one => messageOf(one).parts),
        finish_reason: String(body.status ?? 'stop'),
      },
    ]
  }
  if (Array.isArray(body.content))
    return [{ role: 'assistant', parts: partsOf(body.content), finish_reason: String(body.stop_reason ?? 'stop') }]
  return undefined
}

/** A message of a chat, or an item of Responses. */
function messageOf(message: Json): Message {
  const role = String(message.role ?? 'assistant')
  if (role === 'tool' || message.type === 'function_call_output')
    return {
      role: 'tool',
      parts: [
        {
          type: 'tool_call_response',
          id: message.tool_call_id ?? message.call_id,
          response: message.content ?? message.output,
        },
      ],
    }
  if (message.role === undefined && typeof message.type === 'string' && message.content === undefined)
    return { role, parts: [partOf(message)] }
  const calls = listOf(message.tool_calls).map(one => toolCall(one.id, isJson(one.function) ? one.function : {}))
  return { role, parts: [...partsOf(message.content), ...calls] }
}

const toolCall = (id: unknown, called: Json): Part => ({
  type: 'tool_call',
  id,
  name: called.name,
  arguments: called.arguments ?? called.args ?? called.input,
})

function partsOf(content: unknown): Part[] {
  if (content === undefined || content === null) return []
  if (Array.isArray(content))
    return content.map(one => (isJson(one) ? partOf(one) : { type: 'text', content: String(one) }))
  return [{ type: 'text', content: String(content) }]
}

function partOf(part: Json): Part {
  const type = String(part.type ?? 'text')
  if (isJson(part.functionCall)) return toolCall(undefined, part.functionCall)
  if (isJson(part.functionResponse)) return { type: 'tool_call_response', response: part.functionResponse }
  if (type === 'tool_use' || type === 'function_call') return toolCall(part.call_id ?? part.id, part)
  if (type === 'tool_result') return { type: 'tool_call_response', id: part.tool_use_id, response: part.content }
  if (type === 'thinking') return { type: 'reasoning', content: part.thinking }
  if (typeof part.text === 'string') return { type: 'text', content: part.text }
  return { ...part, type }
}
