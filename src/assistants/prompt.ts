/**
 * The request to the model of a run: instructions, messages of the thread, and the run's own tool calls with outputs.
 */
import type { Services } from '../core/endpoint.ts'
import { GatewayError } from '../core/errors.ts'
import { estimateInput } from '../core/hub/input-tokens.ts'
import type { AssistantObject } from '../core/objects/assistants.ts'
import { openaiChat } from '../formats/openai/chat/index.ts'
import { JsonBody } from '../lib/json/json-body.ts'
import type { Json } from '../lib/json/json-values.ts'
import { chatMessage } from './message-object.ts'
import { stepsOf } from './run-object.ts'
import { exactText } from '../lib/json/exact-json.ts'

const pageSize = 200

/** A chat request, or the token limit of the run that is used up. */
type Prompt = { readonly body: Json } | { readonly limit: 'max_prompt_tokens' | 'max_completion_tokens' }

/**
 * With the whole thread, or as many of its newest messages as the run's truncation or `max_prompt_tokens` (estimated)
 * allows. `stream` = request server-sent events. Throws `too-large` when the messages exceed the limit of a body.
 */
export async function promptOf(services: Services, run: AssistantObject, stream: boolean): Promise<Prompt> {
  const { body } = run
  const used = (body.usage ?? {}) as Json
  const outputLeft = leftOf(body.max_completion_tokens, used.completion_tokens)
  if (outputLeft !== undefined && outputLeft <= 0) return { limit: 'max_completion_tokens' }
  const history = await threadMessages(services, run)
  const own = ownMessages(await stepsOf(services, run))
  const instructions = body.instructions === '' ? [] : [{ role: 'system', content: body.instructions }]
  const rest = {
    ...callFields(body),
    ...(outputLeft !== undefined && { max_completion_tokens: outputLeft }),
    ...(stream && { stream, stream_options: { include_usage: true } }),
  }
  const inputLeft = leftOf(body.max_prompt_tokens, used.prompt_tokens)
  const bodyWith = (messages: readonly Json[]): Json => ({ ...rest, messages: [...instructions, ...messages, ...own] })
  if (inputLeft === undefined) return { body: bodyWith(history) }
  const tokensMax = inputLeft - tokensOf(bodyWith([]))
  const kept = newest(history, tokensMax)
  return tokensMax < 0 || (kept.length === 0 && history.length > 0)
    ? { limit: 'max_prompt_tokens' }
    : { body: bodyWith(kept) }
}

/** undefined = there is no limit. */
function leftOf(limit: unknown, used: unknown): number | undefined {
  return typeof limit === 'number' ? limit - (typeof used === 'number' ? used : 0) : undefined
}

function callFields(run: AssistantObject['body']): Json {
  const { model, tools, tool_choice: choice, response_format: format } = run
  const hasTools = (tools as unknown[]).length > 0
  const fields: Json = { model }
  for (const name of ['temperature', 'top_p', 'reasoning_effort']) if (run[name] != null) fields[name] = run[name]
  if (format != null && format !== 'auto') fields.response_format = format
  if (!hasTools) return fields
  fields.tools = tools
  if (choice !== 'auto') fields.tool_choice = choice
  if (run.parallel_tool_calls === false) fields.parallel_tool_calls = false
  return fields
}

/**
 * Oldest first, without this run's own messages, which are in its steps. Throws `too-large` instead of truncating.
 */
async function threadMessages(services: Services, run: AssistantObject): Promise<Json[]> {
  const { bodyBytesMax } = services.current.settings
  const truncation = run.body.truncation_strategy as Json
  let left = truncation.type === 'last_messages' ? Number(truncation.last_messages) : Infinity
  const messages: Json[] = []
  let bytes = 0
  let after: string | undefined
  while (left > 0) {
    const page = await services.assistants.list({
      kind: 'message',
      keyId: null,
      parentId: run.parentId!,
      limit: pageSize,
      bytesMax: bodyBytesMax,
      order: 'desc',
      after,
    })
    for (const object of page?.objects ?? []) {
      const message = object.runId === run.id ? undefined : chatMessage(object)
      if (!message || left-- <= 0) continue
      messages.push(message)
      bytes += JSON.stringify(message).length
      if (bytes > bodyBytesMax)
        throw new GatewayError(
          'too-large',
          `the thread has more than ${bodyBytesMax} bytes; run it with a truncation_strategy of type last_messages`,
        )
    }
    after = page?.objects.at(-1)?.id
    if (!page?.hasMore) break
  }
  return messages.reverse()
}

/** The run's tool calls and their outputs, as messages of a chat. */
function ownMessages(steps: readonly AssistantObject[]): Json[] {
  return steps.flatMap(step => {
    if (!step.hidden.message) return []
    const { tool_calls: calls } = step.body.step_details as { tool_calls: { id: string; function: Json }[] }
    const outputs = calls.map(call => ({
      role: 'tool',
      tool_call_id: call.id,
      content: String(call.function.output ?? ''),
    }))
    return [step.hidden.message as Json, ...outputs]
  })
}

/** As many of the newest messages as fit into `tokensMax`. */
function newest(messages: readonly Json[], tokensMax: number): readonly Json[] {
  let left = tokensMax
  let from = messages.length
  while (from > 0) {
    left -= tokensOf({ messages: [messages[from - 1]!] })
    if (left < 0) break
    from--
  }
  return messages.slice(from)
}

/** An estimate; 0 for no messages at all. */
function tokensOf(request: Json): number {
  const { messages } = request
  return Array.isArray(messages) && messages.length === 0
    ? 0
    : estimateInput(openaiChat.decode(JsonBody.read(Buffer.from(exactText({ model: '', ...request })))))
}
