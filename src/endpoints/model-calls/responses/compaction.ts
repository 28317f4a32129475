/**
 * Compaction of conversations: an upstream that compacts by itself gets the request as it is; for all others a model
 * is asked for a summary, which is sealed in an item that later requests send back.
 */
import { jsonTextAnswer, streamOf, toResponse } from '../../../core/answer.ts'
import type { Answer } from '../../../core/answer.ts'
import type { CallInAdmission } from '../../../core/call.ts'
import type { Deployment } from '../../../core/deployment.ts'
import type { Services } from '../../../core/endpoint.ts'
import { brokenAnswer, GatewayError } from '../../../core/errors.ts'
import { followUpHeaders, internalJsonRequest } from '../../../core/internal-request.ts'
import { readJsonBody } from '../../../core/request.ts'
import type { HttpRequest } from '../../../core/request.ts'
import { SealedItems, sealingTenantOf } from '../../../core/sealed-item.ts'
import { schemaNames } from '../../../core/dialects/exact-names.ts'
import {
  answerText,
  compactedConversation,
  expanded,
  isCompacted,
  isTrigger,
  readCompacted,
  summaryInput,
  userMessages,
} from '../../../formats/openai/responses/compaction.ts'
import type { CompactedConversation } from '../../../formats/openai/responses/compaction.ts'
import { itemsOf } from '../../../formats/openai/responses/decode.ts'
import { openaiResponses } from '../../../formats/openai/responses/index.ts'
import { replayResponse } from '../../../formats/openai/responses/replay.ts'
import { exactObject, exactText } from '../../../lib/json/exact-json.ts'
import type { Edit, JsonBody } from '../../../lib/json/json-body.ts'
import type { Json } from '../../../lib/json/json-values.ts'
import { bodyTokens } from '../../../lib/tokens/body-tokens.ts'
import { summaryModel } from '../common/summary-model.ts'
import { streamWithItem } from './compaction-stream.ts'

/** Path of compactions in metrics and the ledger. */
export const compactRoute = '/v1/responses/compact'

/** What is to become of the answer of a call that compacts. */
export interface Compaction {
  /** `asked` = the whole answer is the summary; `full` = the conversation was compacted before the call. */
  readonly kind: 'asked' | 'full'
  /** The client wants a stream. */
  readonly stream: boolean
  /** The item, with the summary of a whole answer in `response`. Throws where there is none. */
  itemOf(response: Json): Json
}

interface CompactionContext {
  readonly request: HttpRequest
  readonly services: Services
}

/** Reads `"compaction"` and the like, also as a part of a longer name. */
const mark = Buffer.from('compaction')
const mentionsCompaction = (body: JsonBody): boolean =>
  body.has('context_management') ||
  body.mentions(
    part => part.indexOf(mark) >= 0,
    () => false,
  )

/**
 * Puts what items of ours stand for in their place, and makes of a request to compact one for a summary, where the
 * upstream does not compact by itself. undefined = there is nothing to do with the answer. Throws `invalid-request`
 * for items that this gateway cannot open.
 */
export async function prepareCompaction(
  call: CallInAdmission,
  context: CompactionContext,
): Promise<Compaction | undefined> {
  const body = call.body!
  if (!mentionsCompaction(body)) return undefined
  const sent = itemsOf(body.exact('input', schemaNames) ?? body.get('input'))
  const candidates = call.models.of(call.caller).resolve(call.model)
  const isNative = candidates.length > 0 && candidates.every(compactsItself)
  const items = opened(sent, call, { ...context, isNative })
  if (isNative) {
    if (items !== sent) call.body = edited(body, [{ set: 'input', json: exactText(items) }])
    return undefined
  }
  const management = body.get('context_management')
  if (items === sent && management === undefined && !items.some(isTrigger)) return undefined
  const conversation = items.filter(item => !isTrigger(item))
  const edits: Edit[] = [{ set: 'input', json: exactText(conversation) }, { remove: 'context_management' }]
  if (items.some(isTrigger)) return asked(call, items, context)
  call.body = edited(body, edits)
  const threshold = thresholdOf(management)
  if (threshold === undefined || bodyTokens(call.body) < threshold) return undefined
  return full(call, conversation, context)
}

/** OpenAI's own hosts, and Azure. */
const compactsItself = ({ target }: Deployment): boolean =>
  target.provider.compacts?.(target, 'openai-responses') === true

function edited(body: JsonBody, edits: readonly Edit[]): JsonBody {
  return readJsonBody(Buffer.concat(body.edited(edits)))
}

function opened(
  items: readonly Json[],
  { caller, model }: CallInAdmission,
  { services, isNative }: CompactionContext & { readonly isNative: boolean },
): readonly Json[] {
  const sealed = sealedIn(services)
  const tenant = sealingTenantOf(caller)
  return expanded(items, ({ encrypted_content: content }, at) => {
    const param = `input[${at}].encrypted_content`
    if (typeof content !== 'string')
      throw new GatewayError('invalid-request', 'a compaction item needs its `encrypted_content`', { param })
    const found = sealed.open(content, tenant)
    if ('content' in found) return readCompacted(found.content)
    // The upstream that made it reads it.
    if (found.fault === 'foreign' && isNative) return undefined
    const remedy =
      found.fault === 'foreign' ? `; '${model}' is served by hosts that cannot read it, as only its maker can` : ''
    throw new GatewayError('invalid-request', found.reason + remedy, { param, code: 'invalid_encrypted_content' })
  })
}

const sealedIn = ({ sealingKeys }: Services): SealedItems =>
  new SealedItems(sealingKeys, 'compaction', 'compaction item')

/** `compact_threshold` in tokens; undefined = compaction is not asked for. */
function thresholdOf(value: unknown): number | undefined {
  const entry = (Array.isArray(value) ? (value as Json[]) : []).find(({ type }) => type === 'compaction')
  const threshold = entry?.compact_threshold
  return typeof threshold === 'number' ? threshold : undefined
}

/** What a summary does not need, or has another form of. */
const withoutForSummary = ['context_management', 'text', 'tool_choice', 'max_output_tokens', 'truncation', 'background']

function summaryEdits(call: CallInAdmission, items: readonly Json[]): Edit[] {
  const model = summaryModel(call)
  return [
    ...withoutForSummary.map(name => ({ remove: name })),
    { set: 'input', json: exactText(summaryInput(items)) },
    { set: 'stream', json: 'false' },
    ...(call.body!.has('tools') ? [{ set: 'tool_choice', json: '"none"' }] : []),
    ...(model === call.model ? [] : [{ set: 'model', json: JSON.stringify(model) }]),
  ].filter((edit, _, all) => !('remove' in edit && all.some(other => 'set' in other && other.set === edit.remove)))
}

function asked(call: CallInAdmission, items: readonly Json[], { services }: CompactionContext): Compaction {
  const at = items.findIndex(isTrigger)
  if (at !== items.length - 1)
    throw new GatewayError('invalid-request', 'a `compaction_trigger` must be the last item of `input`', {
      param: `input[${at}]`,
    })
  const conversation = items.slice(0, -1)
  if (conversation.length === 0)
    throw new GatewayError('invalid-request', 'there is no conversation before the `compaction_trigger`', {
      param: 'input',
    })
  const { stream, caller } = call
  call.body = edited(call.body!, summaryEdits(call, conversation))
  return {
    kind: 'asked',
    stream,
    itemOf: response => itemFor(compactedConversation(conversation, summaryOf(response), 'answers'), caller, services),
  }
}

/** The summary is a call of its own, in the same session; without one the conversation goes on as it is. */
async function full(
  call: CallInAdmission,
  conversation: readonly Json[],
  { request, services }: CompactionContext,
): Promise<Compaction | undefined> {
  const { caller, stream } = call
  const internal = internalJsonRequest({
    path: compactRoute,
    headers: followUpHeaders(call),
    body: edited(call.body!, [...summaryEdits(call, conversation), { set: 'store', json: 'false' }]).parse(),
    client: request,
  })
  const answer = await services.callModel(internal, caller, { format: openaiResponses, route: compactRoute })
  const response = (await toResponse(answer).json()) as Json
  // A summary that ends in the middle would take the place of what it does not tell.
  if (answer.status !== 200 || response.status !== 'completed' || answerText(response.output) === '') return undefined
  const compacted = compactedConversation(conversation, summaryOf(response), 'all')
  call.body = edited(call.body!, [{ set: 'input', json: exactText(compacted.items) }])
  const item = itemFor(compacted, caller, services)
  return { kind: 'full', stream, itemOf: () => item }
}

function summaryOf(response: Json): string {
  if (response.status === 'incomplete')
    throw brokenAnswer('the summary of the conversation is cut: the model stopped before its end')
  const summary = answerText(response.output)
  if (summary === '') throw brokenAnswer('the model was asked for a summary of the conversation and wrote none')
  return summary
}

function itemFor(content: CompactedConversation, caller: CallInAdmission['caller'], services: Services): Json {
  return {
    id: `cmp_${crypto.randomUUID().replaceAll('-', '')}`,
    type: 'compaction',
    encrypted_content: sealedIn(services).seal(exactText(content), sealingTenantOf(caller)),
  }
}

/** The answer with the item in it, as a stream where it came as one. */
export function withItem(answer: Answer, compaction: Compaction): Answer {
  const { body } = answer
  const stream = answer.status === 200 ? streamOf(body) : undefined
  if (stream) return { ...answer, body: streamWithItem(stream, compaction.itemOf({})) }
  if (answer.status !== 200 || (typeof body !== 'string' && !(body instanceof Uint8Array))) return answer
  const text = typeof body === 'string' ? body : Buffer.from(body).toString('utf8')
  const response = exactObject(text, schemaNames)
  if (!response) return answer
  const item = compaction.itemOf(response)
  const output = compaction.kind === 'asked' ? [item] : [item, ...((response.output ?? []) as Json[])]
  const ended = compaction.kind === 'asked' ? { status: 'completed', incomplete_details: null } : {}
  return { ...answer, body: exactText({ ...response, ...ended, output }) }
}

/** The answer to a client that wants a stream, of a call that was asked for a summary and answered whole. */
export function asStream(answer: Answer): Answer {
  const response = typeof answer.body === 'string' ? exactObject(answer.body, schemaNames) : undefined
  if (answer.status !== 200 || !response) return answer
  const headers = { ...answer.headers, 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' }
  return { ...answer, headers, body: replayResponse(response, -1) }
}

/** The answer of `/responses/compact`: the user's messages, and the item. */
export function compactedAnswer(answer: Answer, items: readonly Json[]): Answer {
  const { body } = answer
  if (answer.status !== 200 || (typeof body !== 'string' && !(body instanceof Uint8Array))) return answer
  const response = exactObject(typeof body === 'string' ? body : Buffer.from(body).toString('utf8'), schemaNames)
  const compacted = ((response?.output ?? []) as Json[]).filter(isCompacted)
  if (!response || compacted.length !== 1)
    throw brokenAnswer('the upstream was asked to compact the conversation, and its answer has no compaction item')
  const { id, created_at, usage } = response
  const output = [...userMessages(items), ...compacted]
  return {
    ...jsonTextAnswer(exactText({ id, object: 'response.compaction', created_at, output, usage })),
    headers: answer.headers,
  }
}
