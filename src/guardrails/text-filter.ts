/**
 * Searches the texts of an answer as they come: what a rule looks for is replaced, or refused, before any of it goes
 * out, wherever the upstream splits it. Only what may still become a find waits, never longer than the longest find.
 */
import type { ChatEvent, Source } from '../core/hub/chat.ts'
import { textOfPiece, withPieceText } from '../core/hub/text-window.ts'
import type { TextPiece } from '../core/hub/text-window.ts'
import type { AnswerFilter } from '../core/policy.ts'
import { escapedJson, JsonReader, openHalf } from './json-text.ts'
import type { JsonUnits } from './json-text.ts'
import { beyondAscii, invisibleLength, plainJson, plainUnits } from './plain-text.ts'
import { contextLength } from './scanner.ts'
import type { Finding, Scanner } from './scanner.ts'

/** What stands in the place of a find; undefined = it stays. Throws to refuse the answer. */
export type Replace = (finding: Finding, found: string) => string | undefined

/** Units before what is not decided: enough for `contextLength` units that stand there in base64. */
const keptLength = 2 * contextLength

/** Units of other texts that wait behind an undecided one before it is decided without what follows it. */
const queuedMax = 256
/** Of any kind: those without text are held behind one with some, too. */
const queuedEventsMax = 1024

/** One text of the answer: content, reasoning, the arguments of one call, ... */
class TextStream {
  readonly json: JsonReader | undefined
  /** The last units that were decided. */
  context = ''
  /** The beginning of a sign whose other half is not there yet. */
  half = ''
  isOver = false

  constructor(isJson: boolean) {
    this.json = isJson ? new JsonReader() : undefined
  }
}

/** Units that are not decided yet, or an event between them. */
interface Entry {
  readonly stream: TextStream | undefined
  readonly event: ChatEvent
  units: string
  /** Of JSON: what stands for each unit. */
  raws: string[]
  bare: boolean[]
}

/**
 * Covers content, reasoning, refusals, transcripts, citations, addresses of pictures, names of tools and tool
 * arguments, which stay JSON.
 * Log-probabilities are left out: they repeat the text token by token.
 */
export class TextFilter implements AnswerFilter {
  readonly #scanner: Scanner
  readonly #replace: Replace
  readonly #streams = new Map<string, TextStream>()
  /** By choice, in the order of the answer. */
  readonly #queues = new Map<number, Entry[]>()

  constructor(scanner: Scanner, replace: Replace) {
    this.#scanner = scanner
    this.#replace = replace
  }

  event(event: ChatEvent): readonly ChatEvent[] {
    switch (event.type) {
      case 'start':
      case 'usage':
      case 'error':
        return [event]
      case 'logprobs':
        return []
      case 'text':
      case 'refusal':
      case 'tool-call-arguments':
        return this.#piece(event, textOfPiece(event))
      case 'reasoning':
        return this.#reasoning(event)
      case 'audio':
        return this.#audio(event)
      case 'citation':
        return this.#between(event.choice, { ...event, citation: this.#changedFields(event.citation) })
      case 'image':
        return this.#between(event.choice, { ...event, source: this.#addressed(event.source) })
      case 'tool-call-start':
        return this.#between(event.choice, { ...event, name: replaced(event.name, this.#scanner, this.#replace) })
      case 'tool-call-end':
        this.#close(event.choice, `tool-call-arguments ${event.index}`)
        return this.#between(event.choice, event)
      case 'finish':
        this.#closeAll(event.choice)
        return this.#between(event.choice, event)
    }
  }

  end(): readonly ChatEvent[] {
    for (const choice of this.#queues.keys()) this.#closeAll(choice)
    return [...this.#queues.keys()].flatMap(choice => this.#advance(choice))
  }

  /** The signature of a thinking block follows all of its text; what the vendor alone reads is not ours to search. */
  #reasoning(event: Extract<ChatEvent, { type: 'reasoning' }>): readonly ChatEvent[] {
    const { text, ...closing } = event
    if (event.signature === undefined && event.redacted === undefined) return this.#piece(event, text ?? '')
    const before = text ? this.#piece({ type: 'reasoning', choice: event.choice, text }, text) : []
    this.#close(event.choice, 'reasoning')
    return [...before, ...this.#between(event.choice, closing)]
  }

  /** Sound is passed on in its place. */
  #audio(event: Extract<ChatEvent, { type: 'audio' }>): readonly ChatEvent[] {
    const { transcript, ...sound } = event
    if (transcript === undefined) return this.#between(event.choice, event)
    const isText = event.id === undefined && event.data === undefined && event.expiresAtS === undefined
    const before = isText ? [] : this.#between(event.choice, sound)
    return [...before, ...this.#piece({ type: 'audio', choice: event.choice, transcript }, transcript)]
  }

  #piece(event: TextPiece, text: string): readonly ChatEvent[] {
    const { choice } = event
    const key = `${choice} ${keyOf(event)}`
    let stream = this.#streams.get(key)
    if (!stream || stream.isOver) {
      stream = new TextStream(event.type === 'tool-call-arguments')
      this.#streams.set(key, stream)
    }
    const all = stream.half + text
    stream.half = openHalf(all)
    this.#add(event, stream, all.slice(0, all.length - stream.half.length), 'inside')
    return this.#advance(choice)
  }

  /** `place` = whether more of the stream may follow the text. */
  #add(event: TextPiece, stream: TextStream, text: string, place: 'inside' | 'end'): void {
    const queue = this.#queueOf(event.choice)
    const last = queue.at(-1)
    const read = stream.json?.read(text, place)
    const all = read ? plainJson(read) : plainPiece(text)
    const { text: units, raws, bare } = last?.stream === stream ? continued(last, all) : all
    if (units === '') return
    if (last?.stream !== stream) {
      queue.push({ stream, event, units, raws: [...raws], bare: [...bare] })
      return
    }
    if (!stream.json && raws.length > 0) keepRaws(last)
    const own = !stream.json && last.raws.length > 0 && raws.length === 0 ? units.split('') : raws
    last.units += units
    for (const [at, raw] of own.entries()) {
      last.raws.push(raw)
      last.bare.push(bare[at] ?? false)
    }
  }

  #queueOf(choice: number): Entry[] {
    let queue = this.#queues.get(choice)
    if (!queue) this.#queues.set(choice, (queue = []))
    return queue
  }

  #between(choice: number, event: ChatEvent): readonly ChatEvent[] {
    this.#queueOf(choice).push({ stream: undefined, event, units: '', raws: [], bare: [] })
    return this.#advance(choice)
  }

  /** No more of this text follows. */
  #close(choice: number, name: string): void {
    const stream = this.#streams.get(`${choice} ${name}`)
    if (!stream || stream.isOver) return
    if (stream.json || stream.half !== '') this.#add(likeOf(choice, name), stream, stream.half, 'end')
    stream.isOver = true
  }

  #closeAll(choice: number): void {
    const start = `${choice} `
    for (const key of this.#streams.keys()) if (key.startsWith(start)) this.#close(choice, key.slice(start.length))
  }

  /** What is decided, from the beginning of the queue on. */
  #advance(choice: number): ChatEvent[] {
    const queue = this.#queueOf(choice)
    const out: ChatEvent[] = []
    while (queue.length > 0) {
      const head = queue[0]!
      if (head.stream) {
        const text = this.#decided(queue, head, head.stream)
        if (text !== '') out.push(withPieceText(head.event as TextPiece, text))
        if (head.units !== '') break
      } else out.push(head.event)
      queue.shift()
    }
    return out
  }

  /** Takes what is decided from the first entry, and from later ones what belongs to a find that begins there. */
  #decided(queue: readonly Entry[], head: Entry, stream: TextStream): string {
    if (head.units === '') return ''
    const parts = queue.length === 1 ? [head] : queue.filter(one => one.stream === stream)
    const { context } = stream
    const text = context + (parts.length === 1 ? head.units : parts.map(one => one.units).join(''))
    const isComplete = stream.isOver || queue.length > queuedEventsMax || unitsBehind(queue) > queuedMax
    const scan = this.#scanner.scan(text, { from: context.length, isComplete })
    const open = stream.json ? wordStart(parts, scan.open - context.length) : scan.open - context.length
    const end = Math.min(open, head.units.length)
    let out = ''
    let at = 0
    for (const finding of scan.findings) {
      const range = inUnits(finding, context.length, head)
      if (range.start < at || range.start >= end) continue
      const found = text.slice(finding.start, finding.end)
      const replacement = this.#replace(finding, found)
      if (replacement === undefined) continue
      out += rawOf(head, at, range.start) + (stream.json ? inJson(replacement, head.bare[range.start]!) : replacement)
      at = range.end
    }
    const taken = Math.max(end, at)
    stream.context = text.slice(0, context.length + taken).slice(-keptLength)
    if (at < end) out += rawOf(head, at, end)
    take(parts, taken)
    return out
  }

  /** What an inline picture shows is not read. */
  #addressed(source: Source): Source {
    return 'url' in source ? { ...source, url: replaced(source.url, this.#scanner, this.#replace) } : source
  }

  #changedFields(fields: Record<string, unknown>): Record<string, unknown> {
    return JSON.parse(JSON.stringify(fields), (_, value: unknown) =>
      typeof value === 'string' ? replaced(value, this.#scanner, this.#replace) : value,
    )
  }
}

/** A whole text with its finds replaced. */
export function replaced(text: string, scanner: Scanner, replace: Replace): string {
  let out = ''
  let at = 0
  for (const finding of scanner.findAll(text)) {
    const replacement = replace(finding, text.slice(finding.start, finding.end))
    if (replacement === undefined) continue
    out += text.slice(at, finding.start) + replacement
    at = finding.end
  }
  return at === 0 ? text : out + text.slice(at)
}

/** A piece of a plain text; what stands for its units only where some are not plain. */
function plainPiece(text: string): JsonUnits {
  return { bare: [], ...((beyondAscii.test(text) && plainUnits(text)) || { text, raws: [] }) }
}

/** Signs that show nothing belong to the unit before them. */
function continued(entry: Entry, piece: JsonUnits): JsonUnits {
  const length = entry.units === '' ? 0 : invisibleLength(piece.text)
  if (length === 0) return piece
  keepRaws(entry)
  entry.raws[entry.raws.length - 1] += piece.raws.slice(0, length).join('')
  const { text, raws, bare } = piece
  return { text: text.slice(length), raws: raws.slice(length), bare: bare.slice(length) }
}

/** From now on it is kept what stands for each unit. */
function keepRaws(entry: Entry): void {
  if (entry.raws.length === 0) entry.raws = entry.units.split('')
}

/** The same of JSON text, which stays JSON. */
export function replacedJson(json: string, scanner: Scanner, replace: Replace): string {
  const filter = new TextFilter(scanner, replace)
  const events = [
    ...filter.event({ type: 'tool-call-arguments', choice: 0, index: 0, fragment: json }),
    ...filter.event({ type: 'tool-call-end', choice: 0, index: 0 }),
  ]
  return events.map(one => (one.type === 'tool-call-arguments' ? one.fragment : '')).join('')
}

const unitsBehind = (queue: readonly Entry[]): number => queue.slice(1).reduce((sum, one) => sum + one.units.length, 0)

/** Bare words of JSON are decided as a whole. */
function wordStart([head]: readonly Entry[], open: number): number {
  let at = open
  while (at > 0 && at < head!.units.length && head!.bare[at] && head!.bare[at - 1]) at--
  return at
}

/** The find in units of the entry; of a bare word of JSON the whole word. */
function inUnits({ start, end }: Finding, offset: number, { bare }: Entry): { start: number; end: number } {
  let from = start - offset
  let to = end - offset
  if (!bare[from]) return { start: from, end: to }
  while (bare[from - 1]) from--
  while (bare[to]) to++
  return { start: from, end: to }
}

const rawOf = ({ units, raws }: Entry, from: number, to: number): string =>
  raws.length === 0 ? units.slice(from, to) : raws.slice(from, to).join('')

const inJson = (replacement: string, isBare: boolean): string =>
  isBare ? JSON.stringify(replacement) : escapedJson(replacement)

function take(parts: readonly Entry[], count: number): void {
  let left = count
  for (const part of parts) {
    const taken = Math.min(left, part.units.length)
    part.units = part.units.slice(taken)
    part.raws.splice(0, taken)
    part.bare.splice(0, taken)
    left -= taken
  }
}

const keyOf = (event: TextPiece): string =>
  event.type === 'tool-call-arguments' ? `${event.type} ${event.index}` : event.type

/** An event for what of a text comes with its end. */
function likeOf(choice: number, name: string): TextPiece {
  const [type, index] = name.split(' ') as [TextPiece['type'], string?]
  if (type === 'tool-call-arguments') return { type, choice, index: Number(index), fragment: '' }
  return type === 'audio' ? { type, choice } : { type, choice, text: '' }
}
