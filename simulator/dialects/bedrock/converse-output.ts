/** The response of Converse: one message, or binary events. */
import { isJsonObject } from '../../lib/json.ts'
import { jsonResponse } from '../response.ts'
import type { SimulatedResponse, StreamEvent } from '../response.ts'
import type { JsonObject } from '../../lib/json.ts'
import type { Generation, GeneratedChoice, TokenUsage } from '../../generation/types.ts'
import { encodeMessage } from './event-stream.ts'
import { hash, randomId, seededRandom } from '../../generation/random.ts'
import type { EndpointCall } from '../endpoint.ts'

const metrics = { latencyMs: 5 }
/** AWS pads every event with random letters so that lengths reveal nothing about the content. */
const padding = 'abcdefghijkl'

/** Input read from or written to the cache is not part of `inputTokens`. */
function converseUsage(usage: TokenUsage): JsonObject {
  const { cachedTokens, cacheWriteTokens } = usage
  return {
    inputTokens: usage.inputTokens - cachedTokens - cacheWriteTokens,
    outputTokens: usage.outputTokens,
    totalTokens: usage.inputTokens + usage.outputTokens,
    cacheReadInputTokens: cachedTokens,
    cacheWriteInputTokens: cacheWriteTokens,
  }
}

function stopReason(choice: GeneratedChoice): string {
  if (choice.finish === 'length') return 'max_tokens'
  if (choice.finish === 'content-filter') return 'content_filtered'
  if (choice.finish === 'tool-calls') return 'tool_use'
  return choice.stopSequence === undefined ? 'end_turn' : 'stop_sequence'
}

/** The stop sequence is only reported when the request asks for that field. */
function additionalFields(choice: GeneratedChoice, body: JsonObject): JsonObject {
  const paths = body.additionalModelResponseFieldPaths
  if (!Array.isArray(paths) || !paths.includes('/stop_sequence')) return {}
  return { additionalModelResponseFields: { stop_sequence: choice.stopSequence ?? null } }
}

const signatureOf = (choice: GeneratedChoice): string =>
  Buffer.from(randomId(seededRandom(hash(choice.reasoning.join(''))), 96)).toString('base64')

const formatOf = (mediaType: string): string => mediaType.replace(/^image\//, '')

function inputOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return {}
  }
}

function wholeBlocks(choice: GeneratedChoice): JsonObject[] {
  const blocks: JsonObject[] = []
  const thought = choice.reasoning.join('')
  const text = choice.text.join('')
  if (thought !== '')
    blocks.push({ reasoningContent: { reasoningText: { text: thought, signature: signatureOf(choice) } } })
  if (text !== '' || (choice.calls.length === 0 && blocks.length === 0)) blocks.push({ text })
  for (const { data, mediaType } of choice.images)
    blocks.push({ image: { format: formatOf(mediaType), source: { bytes: data } } })
  for (const call of choice.calls)
    blocks.push({
      toolUse: {
        toolUseId: `tooluse_${call.id.slice(0, 22)}`,
        name: call.name,
        input: inputOf(call.pieces.join('')),
      },
    })
  return blocks
}

function event(name: string, value: JsonObject, kind: StreamEvent['kind'] = 'start', tokens = 0): StreamEvent {
  return {
    name,
    text: JSON.stringify({
      ...value,
      p: padding.slice(0, 1 + (JSON.stringify(value).length % padding.length)),
    }),
    kind,
    tokens,
  }
}

/** A content block in a stream: an optional start event, and deltas. */
interface Block {
  readonly start?: JsonObject
  readonly deltas: readonly (readonly [delta: JsonObject, tokens: number])[]
}

function blocksOf(choice: GeneratedChoice): Block[] {
  const blocks: Block[] = []
  if (choice.reasoning.length > 0) {
    const thoughts = choice.reasoning.map(text => [{ reasoningContent: { text } }, 1] as const)
    blocks.push({ deltas: [...thoughts, [{ reasoningContent: { signature: signatureOf(choice) } }, 0]] })
  }
  if (choice.text.length > 0) blocks.push({ deltas: choice.text.map(text => [{ text }, 1] as const) })
  for (const { data, mediaType } of choice.images)
    blocks.push({
      start: { image: { format: formatOf(mediaType) } },
      deltas: [[{ image: { source: { bytes: data } } }, 0]],
    })
  for (const call of choice.calls)
    blocks.push({
      start: { toolUse: { toolUseId: `tooluse_${call.id.slice(0, 22)}`, name: call.name } },
      deltas: call.pieces.map(input => [{ toolUse: { input } }, 1] as const),
    })
  return blocks
}

function* converseEvents(
  choice: GeneratedChoice,
  body: JsonObject,
  usage: JsonObject | undefined,
): Generator<StreamEvent> {
  yield event('messageStart', { role: 'assistant' })
  for (const [contentBlockIndex, { start, deltas }] of blocksOf(choice).entries()) {
    if (start) yield event('contentBlockStart', { contentBlockIndex, start })
    for (const [delta, tokens] of deltas)
      yield event('contentBlockDelta', { contentBlockIndex, delta }, 'delta', tokens)
    yield event('contentBlockStop', { contentBlockIndex })
  }
  yield event('messageStop', { stopReason: stopReason(choice), ...additionalFields(choice, body) }, 'finish')
  yield event('metadata', { ...(usage && { usage }), metrics }, 'usage')
}

const failure = (): StreamEvent =>
  event(
    'internalServerException',
    { message: 'The system encountered an unexpected error during processing. Try your request again.' },
    'error',
  )

interface ConverseContext {
  readonly body: JsonObject
  readonly streams: boolean
  readonly usageOf: EndpointCall['usageOf']
}

/**
 * The response of `converse`, or the binary events of `converse-stream` (docs.aws.amazon.com, "ConverseStream").
 * Bedrock has one choice only.
 */
export function writeConverse(reply: Generation, { body, streams, usageOf }: ConverseContext): SimulatedResponse {
  const choice = reply.choices[0]!
  const usage = usageOf(converseUsage)(reply.usage)
  const billable = { inputTokens: reply.usage.inputTokens, outputTokens: reply.usage.outputTokens }
  if (!streams) {
    const output = { message: { role: 'assistant', content: wholeBlocks(choice) } }
    return jsonResponse(
      {
        output,
        stopReason: stopReason(choice),
        ...(isJsonObject(usage) && { usage }),
        metrics,
        ...additionalFields(choice, body),
      },
      billable,
    )
  }
  return {
    status: 200,
    headers: [['content-type', 'application/vnd.amazon.eventstream']],
    content: converseEvents(choice, body, usage),
    billable,
    encode: encodeMessage,
    failure,
  }
}
