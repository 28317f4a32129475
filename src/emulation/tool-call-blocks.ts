/**
 * The blocks in which models write tool calls: what opens a block, where it ends, and how its calls are read.
 * A block is fed piece by piece; the way it is split does not change where it ends.
 */
import { callKeys, offeredName, readJsonCalls, readPythonCalls, readXmlCalls } from './tool-call-notations.ts'
import type { OfferedTools, ParsedCall } from './tool-call-notations.ts'

/** One instance per block of text; it keeps the end of what it was fed. */
export interface Block {
  /** Takes the next piece; returns how many of its characters belong to the block, or -1 while it has not ended. */
  take(piece: string): number
  /** true = `start` (the first characters of the block, opener included) shows that it holds no calls. */
  isText(start: string): boolean
  /** The calls of the whole block; undefined = it is text. */
  calls(block: string): ParsedCall[] | undefined
  /** The same for a block that was not closed when the answer ended; undefined = it is text. */
  callsAtEnd(block: string): ParsedCall[] | undefined
}

/** Whether a block begins at the start of a text: no, not decided yet, or yes. */
type Opening =
  | { readonly kind: 'none' }
  /** More text is needed to decide. */
  | { readonly kind: 'partial' }
  | { readonly kind: 'block'; readonly block: Block /** Characters of the opener. */; readonly length: number }

const none: Opening = { kind: 'none' }
const partial: Opening = { kind: 'partial' }
/** The characters with which openers begin. */
export const openerStart = /[`<[{]/g

const fence = '```'
const callLabels: ReadonlySet<string> = new Set(['tool_code', 'tool_call'])

/** What precedes a place in an answer. */
export interface Place {
  /** Only white space precedes it in its line. */
  readonly atLineStart: boolean
  /** Only white space precedes it in the whole answer, behind the thinking. */
  readonly atStart: boolean
}

/** The block that begins at the start of `text`. */
export function openingOf(text: string, { atLineStart, atStart }: Place, offered: OfferedTools): Opening {
  // JSON behind other text is more often an example of a call.
  if (atStart && /^(?:\[\s{0,8})?\{/.test(text))
    return { kind: 'block', block: new RemainderBlock('', offered), length: 1 }
  if (text[0] === '{') return none
  if (text[0] === '`') return fenceOpening(text, atLineStart, offered)
  if (text[0] === '<') return tagOpening(text, offered)
  const mistral = literalOpening(text, '[TOOL_CALLS]', () => new ListBlock(offered, '"'))
  if (mistral.kind !== 'none' || !atLineStart) return mistral
  return listOpening(text, offered)
}

/** The opener ends before its line break, so that the search for the closer can always begin with a line break. */
function fenceOpening(text: string, atLineStart: boolean, offered: OfferedTools): Opening {
  if (fence.startsWith(text)) return partial
  const opener = /^```([\w+.#-]{0,24})[ \t]{0,8}(\r?\n|\r?$)/.exec(text)
  if (!opener) return none
  if (!opener[2]!.endsWith('\n')) return partial
  const label = opener[1]!.toLowerCase()
  // Within a line, three backticks without a label more often close a fence than open one.
  if (!atLineStart && label === '') return none
  return { kind: 'block', block: new FenceBlock(label, offered), length: opener[0].length - opener[2]!.length }
}

/** Of Hermes and Qwen, and of Nemotron, whose tag holds a list. */
const callTags = [
  ['<tool_call>', '</tool_call>'],
  ['<TOOLCALL>', '</TOOLCALL>'],
] as const

function tagOpening(text: string, offered: OfferedTools): Opening {
  for (const [opener, closer] of callTags) {
    const tagged = literalOpening(text, opener, () => new TagBlock(opener, closer, offered))
    if (tagged.kind !== 'none') return tagged
  }
  const llama = literalOpening(text, '<|python_tag|>', () => new RemainderBlock('<|python_tag|>', offered))
  if (llama.kind !== 'none') return llama
  if ('<function='.startsWith(text) || /^<function=[^>\s]{0,128}$/.test(text)) return partial
  const xml = /^<function=([^>\s]{1,128})>/.exec(text)
  if (!xml || offeredName(xml[1]!, offered) === undefined) return none
  return { kind: 'block', block: new TagBlock('', '</function>', offered), length: xml[0].length }
}

/** `[f(...), g(...)]` without a tag or fence: a block if the first name is an offered tool. */
function listOpening(text: string, offered: OfferedTools): Opening {
  const found = /^\[\s{0,8}([\w.-]{0,140})(\s?\()?/.exec(text)!
  if (found[2] !== undefined)
    return offeredName(found[1]!, offered) === undefined
      ? none
      : { kind: 'block', block: new ListBlock(offered, '"\''), length: 0 }
  const isWhole = found[0].length === text.length || /^\s$/.test(text.slice(found[0].length))
  if (!isWhole) return none
  const mayMatch = [...offered.keys()].some(
    name => name.startsWith(found[1]!) || `default_api.${name}`.startsWith(found[1]!),
  )
  return mayMatch ? partial : none
}

function literalOpening(text: string, opener: string, block: () => Block): Opening {
  if (text.startsWith(opener)) return { kind: 'block', block: block(), length: opener.length }
  return opener.startsWith(text) ? partial : none
}

/** true = this is the start of no JSON, or of JSON that is no call. */
function isOtherText(start: string): boolean {
  if (start !== '' && start[0] !== '{' && start[0] !== '[') return true
  const key = /^(?:\[\s*)?\{\s*"([^"]*)"/.exec(start)
  return key !== null && !callKeys.has(key[1]!)
}

/** A fenced block. Fences with other labels are tracked too, so that an example inside them never becomes a call. */
class FenceBlock implements Block {
  readonly #label: string
  readonly #offered: OfferedTools
  /** The last characters of the previous piece: the closer may be split between pieces. */
  #before = ''

  constructor(label: string, offered: OfferedTools) {
    this.#label = label
    this.#offered = offered
  }

  take(piece: string): number {
    const text = this.#before + piece
    const closer = /\n[ \t]{0,3}```/.exec(text)
    if (closer) return closer.index + closer[0].length - this.#before.length
    this.#before = text.slice(-6)
    return -1
  }

  isText(start: string): boolean {
    if (callLabels.has(this.#label)) return false
    if (this.#label !== 'json') return true
    return isOtherText(start.slice(start.indexOf('\n') + 1).trimStart())
  }

  calls(block: string): ParsedCall[] | undefined {
    const content = block.slice(block.indexOf('\n') + 1, block.lastIndexOf(fence))
    if (this.#label === 'json') return readJsonCalls(content, this.#offered, 'required')
    if (!callLabels.has(this.#label)) return undefined
    return (
      readJsonCalls(content, this.#offered) ??
      readPythonCalls(content, this.#offered) ??
      readXmlCalls(content, this.#offered)
    )
  }

  /** Some models close the fence on the line of the call itself. */
  callsAtEnd(block: string): ParsedCall[] | undefined {
    const trimmed = block.trimEnd()
    return trimmed.endsWith(fence) && trimmed.length > block.indexOf('\n') + fence.length
      ? this.calls(trimmed)
      : undefined
  }
}

/** From a tag to its end tag. `opener` and the end tag are removed before the calls are read; '' = XML, kept whole. */
class TagBlock implements Block {
  readonly #opener: string
  readonly #closer: string
  readonly #offered: OfferedTools
  #before = ''

  constructor(opener: string, closer: string, offered: OfferedTools) {
    this.#opener = opener
    this.#closer = closer
    this.#offered = offered
  }

  take(piece: string): number {
    const text = this.#before + piece
    const at = text.indexOf(this.#closer)
    if (at >= 0) return at + this.#closer.length - this.#before.length
    this.#before = text.slice(1 - this.#closer.length)
    return -1
  }

  isText(): boolean {
    return false
  }

  calls(block: string): ParsedCall[] | undefined {
    if (this.#opener === '') return readXmlCalls(block, this.#offered)
    const content = block.slice(this.#opener.length, -this.#closer.length)
    return (
      readJsonCalls(content, this.#offered) ??
      readXmlCalls(content, this.#offered) ??
      readPythonCalls(content, this.#offered)
    )
  }

  callsAtEnd(): undefined {
    return undefined
  }
}

/** The remainder of the answer: after Llama's `<|python_tag|>`, or, without an opener (''), JSON as of Llama 3. */
class RemainderBlock implements Block {
  readonly #opener: string
  readonly #offered: OfferedTools

  constructor(opener: string, offered: OfferedTools) {
    this.#opener = opener
    this.#offered = offered
  }

  take(): number {
    return -1
  }

  isText(start: string): boolean {
    const content = start.slice(this.#opener.length).trimStart()
    if (this.#opener === '') return isOtherText(content)
    return content !== '' && content[0] !== '{' && content[0] !== '['
  }

  /** Where nothing announces them, only JSON with arguments counts as calls. */
  calls(block: string): ParsedCall[] | undefined {
    const needed = this.#opener === '' ? 'required' : 'optional'
    return readJsonCalls(block.slice(this.#opener.length), this.#offered, needed)
  }

  callsAtEnd(block: string): ParsedCall[] | undefined {
    return this.calls(block)
  }
}

/** A list in brackets, up to the closing bracket. `quotes` = the characters that delimit strings in it. */
class ListBlock implements Block {
  readonly #offered: OfferedTools
  readonly #quotes: string
  #depth = 0
  /** The quote of the string that is open; empty = none. */
  #quote = ''
  #escaped = false

  constructor(offered: OfferedTools, quotes: string) {
    this.#offered = offered
    this.#quotes = quotes
  }

  take(piece: string): number {
    for (let at = 0; at < piece.length; at++) {
      const character = piece[at]!
      if (this.#escaped) this.#escaped = false
      else if (this.#quote !== '') {
        if (character === '\\') this.#escaped = true
        else if (character === this.#quote) this.#quote = ''
      } else if (character === '[') this.#depth++
      else if (this.#depth === 0) {
        // `[TOOL_CALLS]` without a list after it: the block ends here.
        if (character.trim() !== '') return at
      } else if (character === ']') {
        if (--this.#depth === 0) return at + 1
      } else if (this.#quotes.includes(character)) this.#quote = character
    }
    return -1
  }

  isText(): boolean {
    return false
  }

  calls(block: string): ParsedCall[] | undefined {
    if (block.startsWith('[TOOL_CALLS]')) return readJsonCalls(block.slice('[TOOL_CALLS]'.length), this.#offered)
    return readPythonCalls(block, this.#offered)
  }

  callsAtEnd(): undefined {
    return undefined
  }
}
