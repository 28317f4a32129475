/**
 * Finite automata over UTF-16 units: a Thompson automaton is made of the pattern, and its deterministic states are made
 * when a text first needs them. Each unit of a text costs one look-up with any pattern
 * (https://swtch.com/~rsc/regexp/regexp1.html).
 */
import { contains, wordUnits } from './char-set.ts'
import type { CharSet } from './char-set.ts'
import { PatternError } from './parse.ts'
import type { Assertion, Node } from './parse.ts'

type Instruction =
  | { op: 'set'; set: number; next: number }
  | { op: 'split'; nexts: number[] }
  | { op: 'assertion'; assertion: Assertion; next: number }
  | { op: 'match' }

const instructionsMax = 50_000
/** Deterministic states that are kept; beyond, they are forgotten and made anew. */
const statesMax = 3000
/** Instructions that one `test` may look at to make states. */
const testWorkMax = 2_000_000

/** What a unit is for assertions: `none` = the end of the text, or U+0000. */
const none = 0
const newline = 1
const word = 2
const other = 3
type Kind = typeof none | typeof newline | typeof word | typeof other

/** Units that no set and no assertion distinguishes have one class. */
class Alphabet {
  readonly classOf: Uint16Array
  readonly kindOfClass: readonly Kind[]
  /** By set: which classes are in it. */
  readonly members: readonly Uint8Array[]
  readonly size: number

  /** Words and lines are distinguished for assertions alone. */
  constructor(sets: readonly CharSet[], hasAssertions: boolean) {
    const words = hasAssertions ? wordUnits() : []
    const edges = new Set<number>(hasAssertions ? [0, 1, 10, 11, 13, 14] : [0, 1])
    for (const set of [...sets, words])
      for (let at = 0; at < set.length; at += 2) edges.add(set[at]!).add(set[at + 1]! + 1)
    const starts = [...edges].filter(edge => edge <= 0xffff).sort((a, b) => a - b)
    // Ranges with the same memberships are one class.
    const classes = new Map<string, number>()
    const kinds: Kind[] = []
    const samples: number[] = []
    this.classOf = new Uint16Array(0x10000)
    for (const [at, from] of starts.entries()) {
      const kind: Kind = from === 0 ? none : from === 10 || from === 13 ? newline : contains(words, from) ? word : other
      const signature = `${kind} ${sets.map(set => (contains(set, from) ? 1 : 0)).join('')}`
      let id = classes.get(signature)
      if (id === undefined) {
        classes.set(signature, (id = classes.size))
        kinds.push(kind)
        samples.push(from)
      }
      this.classOf.fill(id, from, starts[at + 1] ?? 0x10000)
    }
    this.size = classes.size
    this.kindOfClass = kinds
    this.members = sets.map(set => Uint8Array.from(samples, sample => (contains(set, sample) ? 1 : 0)))
  }
}

interface Program {
  readonly instructions: readonly Instruction[]
  readonly start: number
  readonly alphabet: Alphabet
}

/** Compiles the node; `isReversed` = for texts that are read from their end. */
function compile(node: Node, isReversed: boolean): Program {
  const instructions: Instruction[] = []
  const sets: CharSet[] = []
  const setIds = new Map<string, number>()
  const add = (instruction: Instruction): number => {
    if (instructions.length >= instructionsMax)
      throw new PatternError('has too many repeated parts; use smaller numbers, or several patterns')
    return instructions.push(instruction) - 1
  }
  const setId = (set: CharSet): number => {
    const key = set.join(' ')
    let id = setIds.get(key)
    if (id === undefined) setIds.set(key, (id = sets.push(set) - 1))
    return id
  }
  /** The instructions of `part`, which go on to `next`. */
  const emit = (part: Node, next: number): number => {
    switch (part.type) {
      case 'set':
        return add({ op: 'set', set: setId(part.set), next })
      case 'assertion':
        return add({ op: 'assertion', assertion: isReversed ? mirrored(part.assertion) : part.assertion, next })
      case 'sequence': {
        const parts = isReversed ? part.parts : part.parts.toReversed()
        return parts.reduce((behind, one) => emit(one, behind), next)
      }
      case 'choice':
        return add({ op: 'split', nexts: part.options.map(option => emit(option, next)) })
      case 'repeat':
        return emitRepeat(part, next)
    }
  }
  const emitRepeat = ({ part, least, most }: Extract<Node, { type: 'repeat' }>, next: number): number => {
    let behind = next
    if (most === Infinity) {
      const loop = add({ op: 'split', nexts: [next] })
      const body = emit(part, loop)
      ;(instructions[loop] as { nexts: number[] }).nexts.push(body)
      behind = loop
    } else for (let at = least; at < most; at++) behind = add({ op: 'split', nexts: [emit(part, behind), next] })
    for (let at = 0; at < least; at++) behind = emit(part, behind)
    return behind
  }
  const start = emit(node, add({ op: 'match' }))
  return {
    instructions,
    start,
    alphabet: new Alphabet(
      sets,
      instructions.some(one => one.op === 'assertion'),
    ),
  }
}

function mirrored(assertion: Assertion): Assertion {
  switch (assertion) {
    case 'start':
      return 'end'
    case 'end':
      return 'start'
    case 'line-start':
      return 'line-end'
    case 'line-end':
      return 'line-start'
    default:
      return assertion
  }
}

function holds(assertion: Assertion, before: Kind, after: Kind): boolean {
  switch (assertion) {
    case 'start':
      return before === none
    case 'end':
      return after === none
    case 'line-start':
      return before === none || before === newline
    case 'line-end':
      return after === none || after === newline
    case 'word':
      return (before === word) !== (after === word)
    case 'not-word':
      return (before === word) === (after === word)
  }
}

interface State {
  readonly instructions: readonly number[]
  readonly before: Kind
}

/** A pattern's automaton. Not for several texts at once, but for one after the other. */
export class Automaton {
  readonly #program: Program
  readonly #isSearch: boolean
  readonly #isReversed: boolean
  /** Classes of the alphabet, and one for the end of the text. */
  readonly #stride: number
  readonly #classOf: Uint16Array
  #states: State[] = []
  #ids = new Map<string, number>()
  /** By state and class: the next state times two, plus one where a match ends before the unit; -1 = not known yet. */
  #next = new Int32Array(0)
  /** By what stands before the text. */
  #starts: number[] = []

  /** `isSearch` = a match may begin anywhere; else it begins where the reading begins. */
  constructor(node: Node, { isSearch, isReversed = false }: { isSearch: boolean; isReversed?: boolean }) {
    this.#program = compile(node, isReversed)
    this.#isSearch = isSearch
    this.#isReversed = isReversed
    this.#classOf = this.#program.alphabet.classOf
    this.#stride = this.#program.alphabet.size + 1
    this.#forget()
  }

  #forget(): void {
    this.#states = []
    this.#ids = new Map()
    this.#next = new Int32Array(64 * this.#stride).fill(-1)
    // State 0 has no instructions: nothing can follow.
    this.#stateOf([], none)
    this.#starts = ([none, newline, word, other] as const).map(kind => this.#stateOf([this.#program.start], kind))
  }

  #stateOf(instructions: readonly number[], before: Kind): number {
    // Without instructions it does not matter what was before.
    const key = instructions.length === 0 ? '' : `${before} ${instructions.join(' ')}`
    const known = this.#ids.get(key)
    if (known !== undefined) return known
    const id = this.#states.push({ instructions, before }) - 1
    this.#ids.set(key, id)
    if (id * this.#stride >= this.#next.length) {
      const larger = new Int32Array(this.#next.length * 2).fill(-1)
      larger.set(this.#next)
      this.#next = larger
    }
    return id
  }

  #kindBefore(text: string, at: number): Kind {
    const isOutside = this.#isReversed ? at >= text.length : at === 0
    if (isOutside) return none
    return this.#program.alphabet.kindOfClass[this.#classOf[text.charCodeAt(this.#isReversed ? at : at - 1)]!]!
  }

  /** Makes a transition that is not known yet. */
  #step(state: number, cls: number): number {
    const { instructions, start, alphabet } = this.#program
    const { instructions: from, before } = this.#states[state]!
    const isEnd = cls === alphabet.size
    const after = isEnd ? none : alphabet.kindOfClass[cls]!
    const seen = new Set<number>()
    const stack = [...from]
    const nexts = new Set<number>()
    let matched = 0
    while (stack.length > 0) {
      const at = stack.pop()!
      if (seen.has(at)) continue
      seen.add(at)
      const one = instructions[at]!
      if (one.op === 'match') matched = 1
      else if (one.op === 'split') stack.push(...one.nexts)
      else if (one.op === 'assertion') {
        if (holds(one.assertion, before, after)) stack.push(one.next)
      } else if (!isEnd && alphabet.members[one.set]![cls] === 1) nexts.add(one.next)
    }
    if (this.#isSearch && !isEnd) nexts.add(start)
    const next = this.#stateOf(
      [...nexts].sort((a, b) => a - b),
      after,
    )
    const value = next * 2 + matched
    this.#next[state * this.#stride + cls] = value
    return value
  }

  /** Units beyond which it starts anew, with what it knew forgotten. */
  #room(): void {
    if (this.#states.length > statesMax) this.#forget()
  }

  /**
   * For searches: whether a match ends in the text from `from` on, or, unless the text is complete, may begin in it and
   * end in what follows.
   */
  touches(text: string, from: number, isComplete: boolean): boolean {
    this.#room()
    const classOf = this.#classOf
    const stride = this.#stride
    const { length } = text
    let state = this.#starts[this.#kindBefore(text, from)]!
    let next = this.#next
    for (let at = from; at < length; at++) {
      const cls = classOf[text.charCodeAt(at)]!
      let value = next[state * stride + cls]!
      if (value < 0) {
        value = this.#step(state, cls)
        next = this.#next
        if (this.#states.length > 4 * statesMax) return true
      }
      if ((value & 1) === 1) return true
      state = value >> 1
    }
    if (isComplete) return (this.#valueOf(state, stride - 1) & 1) === 1
    return this.#states[state]!.instructions.length > 1 || !this.#starts.includes(state)
  }

  /** For searches: whether a match is in the text; undefined = it takes too much work. */
  test(text: string): boolean | undefined {
    this.#room()
    let state = this.#starts[none]!
    let work = 0
    for (let at = 0; at < text.length; at++) {
      const cls = this.#classOf[text.charCodeAt(at)]!
      if (this.#next[state * this.#stride + cls]! < 0) {
        work += 1 + this.#states[state]!.instructions.length
        if (work > testWorkMax || this.#states.length > 4 * statesMax) return undefined
      }
      const value = this.#valueOf(state, cls)
      if ((value & 1) === 1) return true
      state = value >> 1
    }
    return (this.#valueOf(state, this.#stride - 1) & 1) === 1
  }

  #valueOf(state: number, cls: number): number {
    const value = this.#next[state * this.#stride + cls]!
    return value < 0 ? this.#step(state, cls) : value
  }

  /**
   * The end of the longest match that begins at `from`, or of the shortest; -1 = there is none. `isOpen`: what follows
   * the text may make a match, or a longer one. A match has at most `lengthMax` units.
   */
  matchFrom(text: string, from: number, { lengthMax, isComplete, isShortest = false }: MatchBounds): Match {
    this.#room()
    const end = Math.min(text.length, from + lengthMax)
    let state = this.#starts[this.#kindBefore(text, from)]!
    let matched = -1
    for (let at = from; at < end; at++) {
      const value = this.#valueOf(state, this.#classOf[text.charCodeAt(at)]!)
      if ((value & 1) === 1) {
        matched = at
        if (isShortest) return { end: matched, isOpen: false, read: at - from }
      }
      state = value >> 1
      if (state === 0) return { end: matched, isOpen: false, read: at - from }
    }
    if (end < text.length) {
      if ((this.#valueOf(state, this.#classOf[text.charCodeAt(end)]!) & 1) === 1) matched = end
      return { end: matched, isOpen: false, read: end - from }
    }
    if (isComplete) {
      if ((this.#valueOf(state, this.#stride - 1) & 1) === 1) matched = end
      return { end: matched, isOpen: false, read: end - from }
    }
    return { end: matched, isOpen: true, read: end - from }
  }

  /** For reversed searches: writes 1 into `marks` at each position at which a match begins. */
  markStarts(text: string, marks: Uint8Array): void {
    this.#room()
    let state = this.#starts[none]!
    for (let at = text.length - 1; at >= 0; at--) {
      const value = this.#valueOf(state, this.#classOf[text.charCodeAt(at)]!)
      marks[at + 1] = value & 1
      state = value >> 1
      if (this.#states.length > 4 * statesMax) return void marks.fill(1)
    }
    marks[0] = this.#valueOf(state, this.#stride - 1) & 1
  }
}

interface MatchBounds {
  readonly lengthMax: number
  /** Nothing follows the text. */
  readonly isComplete: boolean
  readonly isShortest?: boolean
}

interface Match {
  readonly end: number
  readonly isOpen: boolean
  /** Units that were looked at. */
  readonly read: number
}
