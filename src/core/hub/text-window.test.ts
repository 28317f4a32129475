import { describe, expect, test } from 'bun:test'
import type { Random } from '../../../tests/property/random.ts'
import { forSeeds, seedsOf } from '../../../tests/property/random.ts'
import type { ChatEvent } from './chat.ts'
import { windowedFilter } from './text-window.ts'

const words = ['zanzibar', 'ab', 'aba', 'x', '👩‍👩‍👧', 'Grüße', 'aaa'] as const
const mask = (word: string) => (text: string) => text.replaceAll(word, '*'.repeat(word.length))
const filterOf = (word: string) => windowedFilter(word.length, mask(word))

/** A text in which the word, its beginnings and its ends are frequent. */
function textWith(random: Random, word: string): string {
  const units = [word, word.slice(0, -1), word.slice(1), word[0]!, ' ', 'é', '👩', '世', 'b', word + word]
  return Array.from({ length: 1 + random.int(12) }, () => random.pick(units)).join('')
}

/** Pieces of random length, also empty ones and halves of characters. */
function split(random: Random, text: string): string[] {
  const pieces: string[] = []
  for (let at = 0; at < text.length; ) {
    const length = random.chance(0.6) ? random.int(2) : random.int(20)
    pieces.push(text.slice(at, at + length))
    at += length
  }
  return pieces
}

type Kind = 'text' | 'reasoning' | 'refusal' | 'tool-call-arguments' | 'audio'

function eventOf(kind: Kind, at: { choice: number; index?: number }, text: string): ChatEvent {
  const { choice, index = 0 } = at
  if (kind === 'tool-call-arguments') return { type: kind, choice, index, fragment: text }
  if (kind === 'audio') return { type: kind, choice, transcript: text }
  return { type: kind, choice, text }
}

const textOf = (event: ChatEvent): string => {
  if (event.type === 'tool-call-arguments') return event.fragment
  if (event.type === 'audio') return event.transcript ?? ''
  return 'text' in event ? (event.text ?? '') : ''
}

const nameOf = (event: ChatEvent): string =>
  `${'choice' in event ? event.choice : ''} ${event.type} ${'index' in event ? event.index : ''}`

function through(word: string, events: readonly ChatEvent[]): ChatEvent[] {
  const filter = filterOf(word)
  return [...events.flatMap(event => filter.event(event)), ...filter.end()]
}

/** All of each text, by choice, kind and tool call. */
function joined(events: readonly ChatEvent[]): Map<string, string> {
  const texts = new Map<string, string>()
  for (const event of events) {
    const text = textOf(event)
    if (text !== '') texts.set(nameOf(event), (texts.get(nameOf(event)) ?? '') + text)
  }
  return texts
}

const masked = (word: string, texts: ReadonlyMap<string, string>) =>
  new Map([...texts].map(([name, text]) => [name, mask(word)(text)]))

/** The next piece of one of the sources, until all are empty. */
function interleaved<T>(random: Random, sources: T[][]): T[] {
  const out: T[] = []
  for (let open = sources.filter(one => one.length > 0); open.length > 0; open = open.filter(one => one.length > 0))
    out.push(random.pick(open).shift()!)
  return out
}

describe('windowedFilter against the change of the whole text', () => {
  const kinds: Kind[] = ['text', 'reasoning', 'refusal', 'tool-call-arguments', 'audio']

  test('one text, split anywhere', () => {
    forSeeds(seedsOf(3000), random => {
      const word = random.pick(words)
      const kind = random.pick(kinds)
      const events = split(random, textWith(random, word)).map(piece => eventOf(kind, { choice: 0 }, piece))
      expect(joined(through(word, events))).toEqual(masked(word, joined(events)))
    })
  })

  test('every split of a text in two and three', () => {
    const text = 'in zanzibar, zanzibarzanzibar'
    const expected = mask('zanzibar')(text)
    for (let first = 0; first <= text.length; first++)
      for (let second = first; second <= text.length; second++) {
        const filter = filterOf('zanzibar')
        let seen = ''
        for (const piece of [text.slice(0, first), text.slice(first, second), text.slice(second)]) {
          seen += filter.event({ type: 'text', choice: 0, text: piece }).map(textOf).join('')
          // Nothing of the word is out before it is known not to be the word.
          expect(expected.startsWith(seen)).toBe(true)
        }
        expect(seen + filter.end().map(textOf).join('')).toBe(expected)
      }
  })

  test('several choices, and arguments of several tool calls, in any order', () => {
    forSeeds(seedsOf(1500), random => {
      const word = random.pick(words)
      const sources = Array.from({ length: 2 + random.int(3) }, (_, at) => {
        const isCall = random.chance(0.5)
        const place = isCall ? { choice: 0, index: at } : { choice: 1 + at }
        const kind: Kind = isCall ? 'tool-call-arguments' : 'text'
        return split(random, textWith(random, word)).map(piece => eventOf(kind, place, piece))
      })
      const events = interleaved(random, sources)
      expect(joined(through(word, events))).toEqual(masked(word, joined(events)))
    })
  })

  test('a text that others interrupt never shows the word, and is unchanged where there is none', () => {
    forSeeds(seedsOf(1500), random => {
      const word = random.pick(words)
      const sources = (['text', 'reasoning', 'refusal'] as const).map(kind =>
        split(random, textWith(random, word)).map(piece => eventOf(kind, { choice: 0 }, piece)),
      )
      sources.push([{ type: 'tool-call-start', choice: 0, index: 0, id: 'c', name: 'f' }])
      const events = interleaved(random, sources)
      const before = joined(events)
      for (const [name, text] of joined(through(word, events))) {
        expect(text.includes(word)).toBe(false)
        if (!before.get(name)!.includes(word)) expect(text).toBe(before.get(name)!)
      }
    })
  })

  test('no piece begins or ends in the middle of a character', () => {
    forSeeds(seedsOf(1000), random => {
      const text = Array.from({ length: 30 }, () => random.pick(['👩', 'a', '世', '😀'])).join('')
      const pieces = [...text].map(one => eventOf('text', { choice: 0 }, one))
      const out = through(random.pick(['zanzibar', 'Grüße', 'x']), pieces)
      for (const event of out) expect(textOf(event).isWellFormed()).toBe(true)
      expect(out.map(textOf).join('')).toBe(text)
    })
  })

  test('JSON of tool arguments stays JSON, and the word is found behind escapes', () => {
    const escaped = (text: string, random: Random) =>
      [...text]
        .map(one =>
          random.chance(0.3) && one.length === 1 ? `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}` : one,
        )
        .join('')
    forSeeds(seedsOf(1500), random => {
      const word = random.pick(['zanzibar', 'Grüße', 'aba'])
      const units = [word, word.slice(1), 'plain', '\\"', '\\\\', '\\n', '\\\\u0041', '😀', '\\ud83d\\ude00', '\\u0022']
      const body = Array.from({ length: 1 + random.int(8) }, () => {
        const unit = random.pick(units)
        return unit.startsWith('\\') ? unit : escaped(unit, random)
      }).join('')
      const json = `{"city":"${body}","n":[1,{"deep":"${escaped(word, random)}"}]}`
      const events = split(random, json).map(piece => eventOf('tool-call-arguments', { choice: 0 }, piece))
      const out = through(word, [...events, { type: 'tool-call-end', choice: 0, index: 0 }])
      const text = out.map(textOf).join('')
      const { city } = JSON.parse(json) as { city: string }
      expect(JSON.parse(text)).toEqual({ city: mask(word)(city), n: [1, { deep: '*'.repeat(word.length) }] })
    })
  })
})

describe('what comes beside texts', () => {
  test('log-probabilities are left out; citations are changed; starts, usage and sound pass at once', () => {
    const filter = filterOf('zanzibar')
    const passing: ChatEvent[] = [
      { type: 'start', id: 'a', model: 'm' },
      { type: 'usage', usage: { inputTokens: 1, outputTokens: 1 } },
      { type: 'audio', choice: 0, id: 'sound', data: 'QQ==' },
    ]
    for (const event of passing) expect(filter.event(event)).toEqual([event])
    expect(filter.event({ type: 'logprobs', choice: 0, content: [{ token: 'zanzibar' }] })).toEqual([])
    expect(filter.event({ type: 'citation', choice: 0, citation: { quotes: ['in zanzibar'], at: 3 } })).toEqual([
      { type: 'citation', choice: 0, citation: { quotes: ['in ********'], at: 3 } },
    ])
    expect(filter.event({ type: 'audio', choice: 0, data: 'QQ==', transcript: 'zanzibar' })).toEqual([
      { type: 'audio', choice: 0, data: 'QQ==' },
      { type: 'audio', choice: 0, transcript: '*' },
    ])
    expect(filter.end()).toEqual([{ type: 'audio', choice: 0, transcript: '*******' }])
  })

  test('what is held goes out before the event that ends its text', () => {
    const filter = filterOf('zanzibar')
    expect(filter.event({ type: 'text', choice: 0, text: 'zanzi' })).toEqual([])
    expect(filter.event({ type: 'text', choice: 1, text: 'other' })).toEqual([])
    const finish: ChatEvent = { type: 'finish', choice: 0, reason: 'stop' }
    expect(filter.event(finish)).toEqual([{ type: 'text', choice: 0, text: 'zanzi' }, finish])
    expect(filter.end()).toEqual([{ type: 'text', choice: 1, text: 'other' }])
  })

  test('a signature closes its thinking behind all of its text', () => {
    const filter = filterOf('zanzibar')
    expect(filter.event({ type: 'reasoning', choice: 0, text: 'to zanz' })).toEqual([])
    expect(filter.event({ type: 'reasoning', choice: 0, text: 'ibar', signature: 's' })).toEqual([
      { type: 'reasoning', choice: 0, text: 'to ********', signature: 's' },
    ])
    expect(filter.event({ type: 'reasoning', choice: 0, signature: 't' })).toEqual([
      { type: 'reasoning', choice: 0, signature: 't' },
    ])
    expect(filter.end()).toEqual([])
  })

  test('the id of a spoken answer is kept, though it comes with a transcript and no sound', () => {
    const filter = filterOf('x')
    expect(filter.event({ type: 'audio', choice: 0, id: 'audio_1', transcript: 'ax' })).toEqual([
      { type: 'audio', choice: 0, id: 'audio_1' },
      { type: 'audio', choice: 0, transcript: 'a*' },
    ])
  })
})
