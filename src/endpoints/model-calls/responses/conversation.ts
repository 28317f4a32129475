/** Resolves what a call refers to: earlier responses and single items, read from the key's store. */
import { storingIdOf } from '../../../core/caller.ts'
import type { Caller } from '../../../core/caller.ts'
import type { Services } from '../../../core/endpoint.ts'
import { GatewayError } from '../../../core/errors.ts'
import type { StoredResponse } from '../../../core/objects/responses.ts'
import type { HttpRequest } from '../../../core/request.ts'
import { itemsOf } from '../../../formats/openai/responses/decode.ts'
import type { JsonBody } from '../../../lib/json/json-body.ts'
import { exactText } from '../../../lib/json/exact-json.ts'
import { schemaNames } from '../../../core/dialects/exact-names.ts'

type Item = Record<string, unknown>

/** The body for the upstream, and the items to be stored. */
interface Conversation {
  /** The body with everything that it refers to in `input`. */
  readonly bytes: Uint8Array
  /** The items of this call alone, each with an id. */
  readonly input: Item[]
  readonly previousId: string | null
}

/**
 * Only for bodies without problems. Throws `invalid-request` for a reference to what this key does not have, or to a
 * response that has not ended.
 */
export async function readConversation(
  body: JsonBody,
  { caller, request, services }: { caller: Caller; request: HttpRequest; services: Services },
): Promise<Conversation> {
  const sent = itemsOf(body.exact('input', schemaNames) ?? body.get('input'))
  const previousId = body.get('previous_response_id')
  const continues = typeof previousId === 'string'
  const context = { keyId: storingIdOf(caller), request, services, home: homeOf(body, caller, services) }
  const references = sent.filter(isReference).map(item => item.id as string)
  const own = references.length > 0 ? await resolved(sent, references, context) : sent
  const input = own.map(storedItem)
  if (!continues && references.length === 0) return { bytes: body.bytes, input, previousId: null }
  const history = continues ? await historyOf(previousId, context) : []
  const pieces = body.edited([{ set: 'input', json: exactText([...history, ...own]) }])
  return { bytes: Buffer.concat(pieces), input, previousId: continues ? previousId : null }
}

interface ConversationContext {
  readonly keyId: string
  readonly request: HttpRequest
  readonly services: Services
  /** The only candidate, if its upstream stores items itself. */
  readonly home: string | undefined
}

/** `type` may be left out. */
function isReference(item: Item): boolean {
  return item.type === 'item_reference' || (item.type == null && item.role === undefined && typeof item.id === 'string')
}

/** References are never sent to an upstream, where they could name objects of another key. */
async function resolved(
  sent: readonly Item[],
  ids: readonly string[],
  { keyId, services, home }: ConversationContext,
): Promise<Item[]> {
  const found = await services.responses.items(keyId, ids)
  return sent.flatMap(item => {
    if (!isReference(item)) return [item]
    const stored = found.get(item.id as string)
    if (!stored)
      throw new GatewayError('invalid-request', `Item with id '${String(item.id)}' not found; send the item itself`, {
        param: 'input',
        code: 'item_not_found',
      })
    return stored.deploymentId !== null && stored.deploymentId === home ? [stored.item] : portable(stored.item)
  })
}

async function historyOf(previousId: string, { keyId, request, services, home }: ConversationContext): Promise<Item[]> {
  const { bodyBytesMax } = services.current.settings
  const hold = (bytes: number): void => request.body.hold(bytes)
  const turns = await services.responses.conversation(keyId, previousId, bodyBytesMax, hold)
  if (!turns)
    throw new GatewayError('invalid-request', `Previous response with id '${previousId}' not found.`, {
      param: 'previous_response_id',
      code: 'previous_response_not_found',
    })
  const last = turns.at(-1)!
  if (last.status === 'queued' || last.status === 'in_progress')
    throw new GatewayError(
      'invalid-request',
      `the response '${previousId}' is still ${last.status}; wait for its end`,
      {
        param: 'previous_response_id',
        code: 'previous_response_in_progress',
      },
    )
  const items = turns.flatMap(turn => [...turn.input, ...outputOf(turn)])
  return turns.every(turn => turn.deploymentId !== null && turn.deploymentId === home) ? items : items.flatMap(portable)
}

function outputOf(turn: StoredResponse): Item[] {
  return Array.isArray(turn.response.output) ? (turn.response.output as Item[]) : []
}

/** An upstream knows the items of its own answers by id, which can be used only when it is the only candidate. */
function homeOf(body: JsonBody, caller: Caller, services: Services): string | undefined {
  const candidates = services.current.models.of(caller).resolve(String(body.get('model') ?? ''))
  const [only] = candidates
  return candidates.length === 1 && only?.target.provider.speaks['openai-responses'] ? only.id : undefined
}

/**
 * An item that every upstream understands: without upstream ids; undefined for reasoning without its encrypted content.
 */
export function portable(item: Item): Item[] {
  const { id, status: _, ...rest } = item
  if (item.type === 'reasoning') return item.encrypted_content == null ? [] : [{ id, ...rest }]
  // The answer to it names it.
  if (item.type === 'mcp_approval_request') return [{ id, ...rest }]
  if (item.type !== 'message' || !Array.isArray(item.content)) return [rest]
  return [{ ...rest, content: (item.content as Item[]).map(portablePart) }]
}

function portablePart(part: Item): Item {
  if (part.type !== 'output_text') return part
  return { type: 'output_text', text: part.text, annotations: part.annotations ?? [] }
}

const prefixes: ReadonlyMap<string, string> = new Map(
  Object.entries<string>({
    message: 'msg',
    function_call: 'fc',
    function_call_output: 'fco',
    reasoning: 'rs',
    custom_tool_call: 'ctc',
    custom_tool_call_output: 'ctco',
  }),
)

/** An item as `input_items` lists it: with type, id, and content in parts. */
function storedItem(item: Item): Item {
  const type = typeof item.type === 'string' ? item.type : 'message'
  const id =
    typeof item.id === 'string' ? item.id : `${prefixes.get(type) ?? 'item'}_${crypto.randomUUID().replaceAll('-', '')}`
  if (type !== 'message') return { ...item, type, id }
  const { role, content } = item
  const kind = role === 'assistant' ? 'output_text' : 'input_text'
  const text =
    kind === 'output_text'
      ? { type: kind, text: content, annotations: [], logprobs: [] }
      : { type: kind, text: content }
  return { ...item, id, type, role, status: 'completed', content: typeof content === 'string' ? [text] : content }
}
