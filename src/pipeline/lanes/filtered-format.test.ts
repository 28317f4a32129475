import { expect, test } from 'bun:test'
import type { ChatEvent, ChatRequest } from '../../core/hub/chat.ts'
import type { GatewayError } from '../../core/errors.ts'
import type { AnswerFilter } from '../../core/policy.ts'
import { openaiChat } from '../../formats/openai/chat/index.ts'
import { filteredFormat } from './filtered-format.ts'

const request: ChatRequest = {
  model: 'm',
  stream: true,
  includeUsage: true,
  messages: [],
  extra: { format: 'openai-chat', fields: {} },
}
const answer: readonly ChatEvent[] = [
  { type: 'text', choice: 0, text: 'first' },
  { type: 'text', choice: 1, text: 'other' },
  { type: 'finish', choice: 0, reason: 'stop' },
  { type: 'finish', choice: 1, reason: 'stop' },
  { type: 'usage', usage: { inputTokens: 1, outputTokens: 2 } },
]

const writerWith = (filter: AnswerFilter) =>
  filteredFormat(openaiChat, [{ name: 'a', filter }]).format.writer('m', request)

interface Chunk {
  readonly choices: readonly { readonly index: number; readonly delta: { content?: string }; finish_reason: unknown }[]
  readonly usage?: unknown
}

test('what a filter gives out at the end of a stream comes before its finish reasons, and the usage behind them', () => {
  const held: ChatEvent[] = []
  const writer = writerWith({
    event(event) {
      if (event.type !== 'text') return [event]
      held.push(event)
      return []
    },
    end: () => held,
  })
  const stream = answer.map(event => writer.write(event)).join('') + writer.end()
  const reported = stream
    .split('\n\n')
    .filter(data => data.startsWith('data: {'))
    .map(data => JSON.parse(data.slice('data: '.length)) as Chunk)
    .flatMap(({ choices, usage }) => [
      ...choices.map(one => `${one.index} ${one.finish_reason ?? one.delta.content}`),
      ...(usage ? ['usage'] : []),
    ])
    .filter(one => !one.endsWith(' '))
  expect(reported).toEqual(['0 first', '1 other', '0 stop', '1 stop', 'usage'])
})

test('what a filter adds of its own at the end comes before the finish reason, too', () => {
  const writer = writerWith({ event: event => [event], end: () => [{ type: 'text', choice: 0, text: 'footer' }] })
  const stream = answer.map(event => writer.write(event)).join('') + writer.end()
  expect(stream.indexOf('footer')).toBeLessThan(stream.indexOf('"finish_reason":"stop"'))
})

test('a filter that fails is the fault of the gateway, not of the upstream', () => {
  const broken = (): never => {
    throw new TypeError('broken')
  }
  const kindOf = (work: () => unknown) => {
    try {
      return work()
    } catch (error) {
      return (error as GatewayError).kind
    }
  }
  const first = writerWith({ event: broken, end: () => [] })
  expect(kindOf(() => first.write(answer[0]!))).toBe('internal')
  const last = writerWith({ event: event => [event], end: broken })
  expect(kindOf(() => last.end())).toBe('internal')
})
