/**
 * Formulas in Markdown, as models write them: `$...$` and `\(...\)` in a line, `$$...$$` and `\[...\]` on their own.
 * A dollar that may be money stays one. What a formula holds is not Markdown: its stars and underscores stay.
 */
import type { Marked } from 'marked'
import type { MarkedExtension, TokenizerAndRendererExtension, Tokens } from 'marked'

/** A formula, or what a text that still grows has of one. */
export interface Formula extends Tokens.Generic {
  readonly type: 'formula' | 'formulaBlock'
  /** TeX between the delimiters. */
  readonly tex: string
  readonly isDisplay: boolean
  /** Its end is missing, since the text is not complete. */
  readonly isOpen: boolean
}

/** Longer ones are text: TeX is parsed on the thread of the page. */
const maxLength = 4000

const closings: Readonly<Record<string, string>> = { '\\[': '\\]', '\\(': '\\)', $$: '$$', $: '$' }

/** The text that still grows, while its tokens are made. */
let growing: string | undefined

/** The tokens of a text. `isGrowing` = more of it comes: an open formula at its end is not read as Markdown. */
export function lexWithFormulas(markdown: Marked, text: string, isGrowing: boolean): ReturnType<Marked['lexer']> {
  growing = isGrowing ? text.trimEnd() : undefined
  try {
    return markdown.lexer(text)
  } finally {
    growing = undefined
  }
}

const isAtEnd = (rest: string): boolean => growing?.endsWith(rest.trimEnd()) ?? false

/** The extension for formulas; `render` makes the HTML of one. */
export function formulas(render: (formula: Formula) => string): MarkedExtension {
  const renderer = (token: Tokens.Generic) => render(token as Formula)
  const line: TokenizerAndRendererExtension = {
    name: 'formula',
    level: 'inline',
    start: startInLine,
    tokenizer: inLine,
    renderer,
  }
  const block: TokenizerAndRendererExtension = {
    name: 'formulaBlock',
    level: 'block',
    start: startOfBlock,
    tokenizer: onItsOwn,
    renderer,
  }
  return { extensions: [line, block] }
}

/** Where a formula may begin, before the next character at which Markdown stops reading text anyway. */
function startInLine(text: string): number | undefined {
  const at = text.search(/[\\<![`*~$]/)
  return at >= 0 && /^(?:\$|\\[([])/.test(text.slice(at, at + 2)) ? at : undefined
}

/** The line of this paragraph that a formula of its own begins with. */
function startOfBlock(text: string): number | undefined {
  const end = text.indexOf('\n\n')
  const at = (end < 0 ? text : text.slice(0, end)).search(/\n {0,3}(?:\$\$|\\\[)/)
  return at < 0 ? undefined : at
}

function onItsOwn(text: string): Formula | undefined {
  const [begin = '', opening] = /^ {0,3}(\$\$|\\\[)/.exec(text) ?? []
  if (!opening) return undefined
  const end = endOf(text, begin.length, closings[opening]!)
  if (end < 0) return openFormula('formulaBlock', text, begin)
  const after = /^[ \t]*([.,;]?)[ \t]*(?:\n+|$)/.exec(text.slice(end + 2))
  const tex = text.slice(begin.length, end).trim()
  if (!after || !isFormula(tex, opening)) return undefined
  const raw = text.slice(0, end + 2) + after[0]
  return { type: 'formulaBlock', raw, tex: tex + after[1], isDisplay: true, isOpen: false }
}

function inLine(this: unknown, text: string): Formula | undefined {
  const opening = /^(?:\$\$?|\\[([])/.exec(text)?.[0]
  if (!opening) return undefined
  const closing = closings[opening]!
  const end = endOf(text, opening.length, closing)
  if (end < 0) return openFormula('formula', text, opening)
  const raw = text.slice(0, end + closing.length)
  const tex = text.slice(opening.length, end)
  if (/\n\s*\n/.test(tex) || !isFormula(tex, opening)) return undefined
  const after = text.slice(raw.length)
  if (opening === '$$' && after.startsWith('$')) return undefined
  if (opening === '$' && !isClosedDollar(tex, after)) return undefined
  // What comes next decides whether a dollar closes.
  const isOpen = opening === '$' && after === '' && isAtEnd(text)
  return { type: 'formula', raw, tex: tex.trim(), isDisplay: opening === '$$' || opening === '\\[', isOpen }
}

/** Where the closing delimiter is, behind no backslash; -1 = not near enough. */
function endOf(text: string, from: number, closing: string): number {
  const near = text.slice(from, from + maxLength)
  for (let at = near.indexOf(closing); at >= 0; at = near.indexOf(closing, at + 1)) {
    const isEscaped = /(?:^|[^\\])(?:\\\\)*\\$/.test(near.slice(Math.max(0, at - 20), at))
    if (!isEscaped) return from + at
  }
  return -1
}

function isFormula(tex: string, opening: string): boolean {
  if (tex.trim() === '') return false
  // A mark like "\[12\]" is a bracket that was written as Markdown asks for.
  return opening !== '\\[' || !/^\s*\d+\s*$/.test(tex)
}

/** As Pandoc reads dollars: no blank inside of them, no digit behind. Letters behind are only those of "$n$th". */
function isClosedDollar(tex: string, after: string): boolean {
  if (/^\s|\s$|\n/.test(tex)) return false
  if (/^[\p{L}\p{N}$]/u.test(after) && !/^(?:th|st|nd|rd|s)(?!\p{L})/u.test(after)) return false
  return !isMoney(tex)
}

/** "5 (before: 6", of "$5 (before: 6$)": begins with an amount, and has words that no TeX command takes. */
function isMoney(tex: string): boolean {
  return /^\d/.test(tex) && /\p{L}{3}/u.test(tex.replaceAll(/\\\p{L}+|\{[^{}]*\}/gu, ''))
}

/** A single dollar before a digit is more often money than a formula, and its text is Markdown. */
function openFormula(type: Formula['type'], text: string, opening: string): Formula | undefined {
  const isLikely = opening !== '$' || /^\$[^\s\d$][^\n]*$/.test(text)
  if (!isLikely || text.length > maxLength || !isAtEnd(text)) return undefined
  return { type, raw: text, tex: '', isDisplay: type === 'formulaBlock', isOpen: true }
}
