/** What an upstream's answer costs grows with its length, however its calls, choices and notes are interleaved. */
import { expect, test } from 'bun:test'
import { targets } from '../../tests/golden/targets.ts'
import { chatRequest } from '../../tests/support/provider-rig.ts'
import type { ChatEvent } from '../core/hub/chat.ts'
import { windowedFilter } from '../core/hub/text-window.ts'
import { frameSplitter } from '../lib/frame-splitter.ts'
import { readAnswer, toolCallsMax, TranslatedRelay } from '../pipeline/lanes/translate.ts'
import { anthropicMessages, geminiGenerate, openaiChat, openaiCompletions, openaiResponses } from './index.ts'

const formats = { openaiChat, openaiResponses, anthropicMessages, geminiGenerate, openaiCompletions }
const start: ChatEvent = { type: 'start', id: 'x', model: 'm' }
const finish: ChatEvent = { type: 'finish', choice: 0, reason: 'stop' }
const range = (count: number): number[] => Array.from({ length: count }, (_, at) => at)
const begins = (index: number): ChatEvent => ({ type: 'tool-call-start', choice: 0, index, id: `c${index}`, name: 'f' })
const fills = (index: number): ChatEvent => ({ type: 'tool-call-arguments', choice: 0, index, fragment: '{}' })
const ends = (index: number): ChatEvent => ({ type: 'tool-call-end', choice: 0, index })

const shapes: Readonly<Record<string, (count: number) => ChatEvent[]>> = {
  'calls that never end': count => [...range(count).map(begins), ...range(count).map(fills)],
  'calls that end in order': count => [
    ...range(count).map(begins),
    ...range(count).map(fills),
    ...range(count).map(ends),
  ],
  'calls that end in reverse': count => [
    ...range(count).map(begins),
    ...range(count).map(fills),
    ...range(count).reverse().map(ends),
  ],
  citations: count =>
    range(count).flatMap((at): ChatEvent[] => [
      { type: 'text', choice: 0, text: 'a' },
      { type: 'citation', choice: 0, citation: { type: 'url_citation', url_citation: { url: `https://a/${at}` } } },
    ]),
  choices: count => [
    ...range(count).map((choice): ChatEvent => ({ type: 'text', choice, text: 'a' })),
    ...range(count - 1).map((at): ChatEvent => ({ type: 'finish', choice: at + 1, reason: 'stop' })),
  ],
}

/** Milliseconds of the processor, the least of three. */
function costMs(work: () => void): number {
  return Math.min(
    ...range(3).map(() => {
      const before = process.cpuUsage()
      work()
      const { user, system } = process.cpuUsage(before)
      return (user + system) / 1000
    }),
  )
}

const small = 4000
const factor = 4
/** Quadratic work would be 16 times as much; what is below this many milliseconds is noise. */
const noiseMs = 12

function expectLinear(name: string, work: (count: number) => () => void): void {
  work(50)()
  const [one, many] = [costMs(work(small)), costMs(work(small * factor))]
  expect({ name, isLinear: many < Math.max(one, noiseMs) * factor * 2.5, one, many }).toMatchObject({ isLinear: true })
}

for (const [name, format] of Object.entries(formats))
  test(`${name}: twice the events are twice the work, written and encoded`, () => {
    for (const [shape, make] of Object.entries(shapes)) {
      expectLinear(`write ${shape}`, count => {
        const events = [start, ...make(count), finish]
        return () => {
          const writer = format.writer('m', chatRequest())
          for (const event of events) writer.write(event)
          writer.end()
        }
      })
      expectLinear(`encode ${shape}`, count => {
        const events = [start, ...make(count), finish]
        return () => void format.encode(events, 'm', chatRequest())
      })
    }
  }, 120_000)

test('the reader of chat completions, its splitter and the window of filters do linear work', () => {
  const { adapter } = targets.get('openai')![0]!
  for (const [shape, make] of Object.entries(shapes).filter(([one]) => one !== 'choices')) {
    expectLinear(`read ${shape}`, count => {
      const writer = openaiChat.writer('m', chatRequest())
      const text = [start, ...make(count), finish].map(event => writer.write(event)).join('')
      const bytes = Buffer.from(text + writer.end())
      return () => {
        const read = adapter.reader()
        // In one piece: each line is searched for its end once.
        for (const frame of frameSplitter(adapter.framing).push(bytes)) read(frame)
      }
    })
    expectLinear(`window ${shape}`, count => {
      const events = make(count)
      return () => {
        const filter = windowedFilter(16, text => text)
        for (const event of events) filter.event(event)
        filter.end()
      }
    })
  }
}, 120_000)

test('more calls than an answer may have are refused, streamed and whole, at the one that is too many', () => {
  const { adapter } = targets.get('openai')![0]!
  const bytesOf = (count: number) => {
    const writer = openaiChat.writer('m', chatRequest())
    const events = [start, ...range(count).flatMap(at => [begins(at), fills(at)]), finish]
    return Buffer.from(events.map(event => writer.write(event)).join('') + writer.end())
  }
  for (const format of Object.values(formats)) {
    const relayed = (count: number) => {
      const relay = new TranslatedRelay({ adapter, format, request: chatRequest(), publicModel: 'm' })
      relay.push(bytesOf(count))
      relay.end()
      return relay.failure
    }
    expect(relayed(toolCallsMax)).toBeUndefined()
    expect(relayed(toolCallsMax + 1)).toMatchObject({ kind: 'upstream-broken' })
  }
  const whole = (count: number) => {
    const events = [start, ...range(count).flatMap(at => [begins(at), fills(at), ends(at)]), finish]
    return () => readAnswer(adapter, Buffer.from(JSON.stringify(openaiChat.encode(events, 'm', chatRequest()))))
  }
  expect(whole(toolCallsMax)).not.toThrow()
  expect(whole(toolCallsMax + 1)).toThrow(`more than ${toolCallsMax} tool calls`)
})
