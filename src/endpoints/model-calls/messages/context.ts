/** Context management of Messages for upstreams that do not know it: before the call, and in its answer. */
import { streamOf, toResponse } from '../../../core/answer.ts'
import type { Answer } from '../../../core/answer.ts'
import type { CallInAdmission } from '../../../core/call.ts'
import type { Deployment } from '../../../core/deployment.ts'
import type { Services } from '../../../core/endpoint.ts'
import { brokenAnswer } from '../../../core/errors.ts'
import { followUpHeaders, internalJsonRequest } from '../../../core/internal-request.ts'
import { readJsonBody } from '../../../core/request.ts'
import type { HttpRequest } from '../../../core/request.ts'
import {
  clearedMessages,
  compactionBlock,
  dueCompaction,
  editsOf,
  expandedMessages,
  messagesAfter,
  messageText,
  summaryMessages,
} from '../../../formats/anthropic/context-management.ts'
import { anthropicMessages } from '../../../formats/anthropic/index.ts'
import { frameSplitter } from '../../../lib/frame-splitter.ts'
import { exactNames, exactObject, exactText } from '../../../lib/json/exact-json.ts'
import type { Edit, JsonBody } from '../../../lib/json/json-body.ts'
import type { Json } from '../../../lib/json/json-values.ts'
import { bodyTokens } from '../../../lib/tokens/body-tokens.ts'
import { summaryModel } from '../common/summary-model.ts'

/** Tokens of a summary at most, where the client asks for fewer. */
const summaryTokensMin = 8192
const inputNames = exactNames('input')
const mark = Buffer.from('"compaction"')

/** What the answer is to say of the context. */
export interface ManagedContext {
  readonly applied: readonly Json[]
  /** The block before the answer; undefined = nothing was compacted. */
  readonly block?: Json
  /** The whole answer is the summary. */
  readonly pauses?: boolean
  /** The client wants a stream. */
  readonly stream: boolean
}

/**
 * Does what `context_management` asks for, and puts what blocks of compactions say in their place; undefined = there is
 * nothing to do, or the upstream does it.
 */
export function manageContext(
  call: CallInAdmission,
  parts: ContextParts,
): Promise<ManagedContext | undefined> | undefined {
  const body = call.body!
  const candidates = call.models.of(call.caller).resolve(call.model)
  if (candidates.every(managesItself)) return undefined
  return body.has('context_management') || mentionsCompaction(body) ? managed(call, body, parts) : undefined
}

interface ContextParts {
  readonly request: HttpRequest
  readonly services: Services
}

async function managed(
  call: CallInAdmission,
  body: JsonBody,
  parts: ContextParts,
): Promise<ManagedContext | undefined> {
  const sent = (body.exact('messages', inputNames) ?? body.get('messages')) as Json[]
  const edits = editsOf(body.get('context_management'))
  const withMessages = (messages: readonly Json[], more: readonly Edit[] = []): JsonBody =>
    edited(body, [{ set: 'messages', json: exactText(messages) }, { remove: 'context_management' }, ...more])
  const count = (messages: readonly Json[]): number => bodyTokens(withMessages(messages))
  const { messages, applied } = clearedMessages(expandedMessages(sent), edits, count)
  const { stream } = call
  call.body = withMessages(messages)
  const due = dueCompaction(messages, edits, count)
  if (!due) return applied.length > 0 ? { applied, stream } : undefined
  const asked = withMessages(summaryMessages(messages, due.instructions), summaryEdits(call))
  if (due.pauses) {
    call.body = asked
    return { applied, pauses: true, stream }
  }
  const summary = await summaryBy(asked, call, parts)
  if (summary === undefined) return { applied, stream }
  call.body = withMessages(messagesAfter(messages, summary))
  return { applied, block: compactionBlock(summary), stream }
}

const mentionsCompaction = (body: JsonBody): boolean =>
  body.mentions(
    part => part.indexOf(mark) >= 0,
    () => false,
  )

/** Claude, at Anthropic and at the hosts that take its dialect. */
const managesItself = ({ target: { provider } }: Deployment): boolean =>
  provider.speaks['anthropic-messages'] !== undefined

const edited = (body: JsonBody, edits: readonly Edit[]): JsonBody => readJsonBody(Buffer.concat(body.edited(edits)))

function summaryEdits(call: CallInAdmission): Edit[] {
  const given = Number(call.body!.get('max_tokens')) || 0
  const model = summaryModel(call)
  return [
    { set: 'stream', json: 'false' },
    { set: 'max_tokens', json: String(Math.max(given, summaryTokensMin)) },
    ...(call.body!.has('tools') ? [{ set: 'tool_choice', json: '{"type":"none"}' }] : [{ remove: 'tool_choice' }]),
    ...['output_config', 'output_format', 'stop_sequences'].map(name => ({ remove: name })),
    ...(model === call.model ? [] : [{ set: 'model', json: JSON.stringify(model) }]),
  ]
}

/** A call of its own, in the same session; undefined = it failed, and the conversation goes on as it is. */
async function summaryBy(
  asked: JsonBody,
  call: CallInAdmission,
  { request, services }: ContextParts,
): Promise<string | undefined> {
  const internal = internalJsonRequest({
    path: '/v1/messages',
    headers: followUpHeaders(call),
    body: asked.parse(),
    client: request,
  })
  const answer = await services.callModel(internal, call.caller, { format: anthropicMessages, route: '/v1/messages' })
  if (answer.status !== 200) return undefined
  const message = (await toResponse(answer).json()) as Json
  // A summary that ends in the middle would take the place of what it does not tell.
  return message.stop_reason === 'max_tokens' ? undefined : messageText(message) || undefined
}

/** The answer with what was done to the context. */
export function withContext(answer: Answer, context: ManagedContext): Answer {
  if (answer.status !== 200) return answer
  const stream = streamOf(answer.body)
  if (stream) return { ...answer, body: streamWith(stream, context) }
  const message = exactObject(textOf(answer), inputNames)
  if (!message) return answer
  const managed = managedMessage(message, context)
  if (!context.pauses || !context.stream) return { ...answer, body: exactText(managed) }
  const headers = { ...answer.headers, 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' }
  return { ...answer, headers, body: eventsOf(managed) }
}

function textOf({ body }: Answer): string {
  return typeof body === 'string' ? body : Buffer.from(body as Uint8Array).toString('utf8')
}

function managedMessage(message: Json, { applied, block, pauses }: ManagedContext): Json {
  const management = { context_management: { applied_edits: applied } }
  if (!pauses) {
    const content = (message.content ?? []) as Json[]
    return { ...message, ...management, content: block ? [block, ...content] : content }
  }
  const summary = messageText(message)
  if (message.stop_reason === 'max_tokens')
    throw brokenAnswer('the summary of the conversation is cut: the model stopped before its end')
  if (summary === '') throw brokenAnswer('the model was asked for a summary of the conversation and wrote none')
  return { ...message, ...management, content: [compactionBlock(summary)], stop_reason: 'compaction' }
}

const written = (event: Json): string => `event: ${String(event.type)}\ndata: ${exactText(event)}\n\n`

function blockEvents({ content, ...block }: Json): string {
  return (
    written({ type: 'content_block_start', index: 0, content_block: { ...block, content: null } }) +
    written({ type: 'content_block_delta', index: 0, delta: { type: 'compaction_delta', content } }) +
    written({ type: 'content_block_stop', index: 0 })
  )
}

/** The events of a message whose one block is that of a compaction. */
function eventsOf({ content, stop_reason, usage, context_management, ...message }: Json): string {
  const [block] = content as [Json]
  const begun = { ...message, content: [], stop_reason: null, stop_sequence: null, usage }
  return (
    written({ type: 'message_start', message: begun }) +
    blockEvents(block) +
    written({ type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage, context_management }) +
    written({ type: 'message_stop' })
  )
}

function streamWith(source: ReadableStream<Uint8Array>, { applied, block }: ManagedContext) {
  const splitter = frameSplitter()
  const event = (given: Json): string => {
    if (given.type === 'message_start') return written(given) + (block ? blockEvents(block) : '')
    if (given.type === 'message_delta') return written({ ...given, context_management: { applied_edits: applied } })
    if (block && typeof given.index === 'number') given.index++
    return written(given)
  }
  return source.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(piece, controller) {
        for (const { data } of splitter.push(piece)) {
          const given = exactObject(data, inputNames)
          if (given) controller.enqueue(Buffer.from(event(given)))
        }
      },
    }),
  )
}
