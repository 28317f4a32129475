/**
 * The forward lane of OpenAI's dialects: the client's bytes go to the upstream and back, and only what
 * must change is touched (the model's name, usage asked for, gateway-only fields removed).
 */
import { GatewayError } from '../core/errors.ts'
import type { ForwardedAnswer, ForwardRules } from '../core/format.ts'
import { readOpenaiUsage } from '../core/openai-usage.ts'
import type { ForwardQuirks } from '../core/provider.ts'
import { JsonBody, JsonBodyError } from '../lib/json-body.ts'
import type { Edit } from '../lib/json-body.ts'
import { gatewayFields } from './openai-chat/checks.ts'
import { openaiErrorEvent } from './openai-error.ts'
import { OpenaiRelay } from './openai-relay.ts'

/** An answer may be far larger than a request; the limits only stop what would stall the process. */
const answerLimits = { depth: 256, fields: 1000, tokens: 8_000_000 }

function commonEdits(body: JsonBody, quirks: ForwardQuirks): { edits: Edit[]; dropped: string[] } {
  const edits: Edit[] = []
  const dropped: string[] = []
  for (const name of body.names()) {
    if (gatewayFields.has(name)) edits.push({ remove: name })
    else if (quirks.drop?.includes(name)) {
      edits.push({ remove: name })
      dropped.push(name)
    } else if (quirks.rename && Object.hasOwn(quirks.rename, name)) {
      const target = quirks.rename[name]!
      edits.push({ remove: name })
      if (!body.has(target)) edits.push({ set: target, json: body.rawText(name)! })
    }
  }
  return { edits, dropped }
}

/** Usage is always asked for, so that every stream can be billed; the relay hides it from clients who did not ask. */
function streamEdits(body: JsonBody, quirks: ForwardQuirks): { edits: Edit[]; dropped: string[] } {
  const result = commonEdits(body, quirks)
  const asked = body.get('stream_options')
  if (body.get('stream') !== true || quirks.streamOptions === false) {
    if (body.has('stream_options')) result.edits.push({ remove: 'stream_options' })
  } else if (!asked) {
    result.edits.push({ set: 'stream_options', json: '{"include_usage":true}' })
  } else if ((asked as Record<string, unknown>).include_usage !== true) {
    result.edits.push({ set: 'stream_options', json: JSON.stringify({ ...asked, include_usage: true }) })
  }
  return result
}

function readAnswer(bytes: Uint8Array, mustHave: string): JsonBody {
  let body: JsonBody
  try {
    body = JsonBody.read(bytes, answerLimits)
  } catch (cause) {
    if (!(cause instanceof JsonBodyError)) throw cause
    throw new GatewayError('upstream-broken', `the upstream's answer is not valid JSON: ${cause.message}`, {
      cause,
    })
  }
  if (!body.has(mustHave))
    throw new GatewayError('upstream-broken', `the upstream's answer has no \`${mustHave}\``)
  return body
}

function forwardAnswer(body: JsonBody, publicModel: string, more: readonly Edit[]): ForwardedAnswer {
  const edits = [...more]
  if (body.get('model') !== publicModel) edits.push({ set: 'model', json: JSON.stringify(publicModel) })
  const pieces = body.edited(edits)
  return {
    body: pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces),
    usage: readOpenaiUsage(body.get('usage')),
  }
}

function includesUsage(body: JsonBody): boolean {
  const options = body.get('stream_options') as Record<string, unknown> | null | undefined
  return options?.include_usage === true
}

export const openaiChatForward: ForwardRules = {
  edits: streamEdits,
  answer(bytes, publicModel) {
    const body = readAnswer(bytes, 'choices')
    // @openrouter/sdk refuses an answer without the key; null is enough (research/ecosystem 1.1).
    const more: Edit[] = body.has('system_fingerprint') ? [] : [{ set: 'system_fingerprint', json: 'null' }]
    return forwardAnswer(body, publicModel, more)
  },
  relay: (publicModel, body) =>
    new OpenaiRelay({ publicModel, showUsage: includesUsage(body), errorEvent: openaiErrorEvent }),
}

export const openaiCompletionsForward: ForwardRules = {
  edits: streamEdits,
  answer: (bytes, publicModel) => forwardAnswer(readAnswer(bytes, 'choices'), publicModel, []),
  relay: openaiChatForward.relay,
}

export const openaiEmbeddingsForward: ForwardRules = {
  edits: commonEdits,
  answer: (bytes, publicModel) => forwardAnswer(readAnswer(bytes, 'data'), publicModel, []),
  relay() {
    throw new GatewayError('internal', 'embeddings are never streamed')
  },
}
