/** Text completions as they go to clients (OpenAI API reference, "Completions", legacy), as events of the hub. */
import type { ChatEvent, FinishReason } from '../core/hub/chat.ts'
import { GatewayError } from '../core/errors.ts'
import { readChunkUsage } from '../core/usage/openai-usage.ts'
import type { Frame } from '../lib/frame.ts'
import { isObject, listOf, textOf } from '../lib/json/json-values.ts'
import type { Json } from '../lib/json/json-values.ts'
import type { AnswerDialect } from '../core/dialects/answer-reader.ts'

/** Throws for log probabilities, whose old columns the hub does not have, and for what is no completion. */
export const completionsAnswer: AnswerDialect = {
  result: body => {
    if (!isObject(body) || body.error) throw unreadable()
    return [start(body), ...pieces(body), ...usageOf(body)]
  },
  reader() {
    let isStarted = false
    return (frame: Frame) => {
      if (frame.data.startsWith('[DONE]')) return []
      const chunk: unknown = JSON.parse(frame.data)
      if (!isObject(chunk) || chunk.error) throw unreadable()
      const events = [...(isStarted ? [] : [start(chunk)]), ...pieces(chunk), ...usageOf(chunk)]
      isStarted = true
      return events
    }
  },
}

const unreadable = (): GatewayError => new GatewayError('upstream-broken', 'this is no text completion to be kept')

function start(body: Json): ChatEvent {
  return { type: 'start', id: textOf(body.id), model: textOf(body.model) }
}

function pieces(body: Json): ChatEvent[] {
  return listOf(body.choices).flatMap((choice, at): ChatEvent[] => {
    if (!isObject(choice) || choice.logprobs) throw unreadable()
    const number = typeof choice.index === 'number' ? choice.index : at
    const text = textOf(choice.text)
    const reason = reasons[textOf(choice.finish_reason)]
    return [
      ...(text === '' ? [] : [{ type: 'text' as const, choice: number, text }]),
      ...(reason === undefined ? [] : [{ type: 'finish' as const, choice: number, reason }]),
    ]
  })
}

const reasons: Readonly<Record<string, FinishReason>> = {
  stop: 'stop',
  length: 'length',
  content_filter: 'content-filter',
}

function usageOf(body: Json): ChatEvent[] {
  const usage = readChunkUsage(body)
  return usage ? [{ type: 'usage', usage }] : []
}
