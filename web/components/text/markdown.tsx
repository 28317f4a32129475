import DOMPurify from 'dompurify'
import { Marked, Renderer } from 'marked'
import type { Token, Tokens } from 'marked'
import { memo, useEffect, useMemo, useRef, useSyncExternalStore } from 'react'
import type { MouseEvent } from 'react'
import { writeClipboard } from '../../lib/copy.ts'
import { t } from '../../strings/index.ts'
import { highlighted, highlightedCount, onHighlighted } from './highlight.ts'
import { formulas, lexWithFormulas } from './math-syntax.ts'
import type { Formula } from './math-syntax.ts'
import { isMathLoaded, mathOf, onMathLoaded } from './math.ts'

/** Elements of formulas: what MathML has without addresses, actions and foreign content. */
const mathTags = [
  'math',
  'menclose',
  'mfrac',
  'mi',
  'mmultiscripts',
  'mn',
  'mo',
  'mover',
  'mpadded',
  'mphantom',
  'mprescripts',
  'mroot',
  'mrow',
  'mspace',
  'msqrt',
  'mstyle',
  'msub',
  'msubsup',
  'msup',
  'mtable',
  'mtd',
  'mtext',
  'mtr',
  'munder',
  'munderover',
]

const mathAttributes = [
  'accent',
  'accentunder',
  'columnspan',
  'depth',
  'display',
  'displaystyle',
  'fence',
  'form',
  'height',
  'largeop',
  'linethickness',
  'lspace',
  'mathvariant',
  'maxsize',
  'minsize',
  'movablelimits',
  'notation',
  'rowspan',
  'rspace',
  'scriptlevel',
  'separator',
  'stretchy',
  'symmetric',
  'voffset',
  'width',
]

/** What Markdown makes, and nothing that loads, runs, frames or styles. */
const allowed = {
  ALLOWED_TAGS: [
    'a',
    'blockquote',
    'br',
    'button',
    'code',
    'del',
    'div',
    'em',
    'figcaption',
    'figure',
    'h1',
    'h2',
    'h3',
    'h4',
    'h5',
    'h6',
    'hr',
    'li',
    'ol',
    'p',
    'pre',
    'span',
    'strong',
    'table',
    'tbody',
    'td',
    'th',
    'thead',
    'tr',
    'ul',
    ...mathTags,
  ],
  ALLOWED_ATTR: ['href', 'title', 'start', 'align', 'type', 'tabindex', 'class', ...mathAttributes],
  ALLOWED_URI_REGEXP: /^(?:https?|mailto):/i,
  // These hold no addresses.
  ADD_URI_SAFE_ATTR: ['start', 'align', 'type', 'tabindex', ...mathAttributes],
}

const purify = DOMPurify(window)
// Links of a text leave the pages, without telling where from.
purify.addHook('afterSanitizeAttributes', node => {
  if (node.tagName !== 'A') return
  node.setAttribute('target', '_blank')
  node.setAttribute('rel', 'noopener noreferrer nofollow')
})

// The classes of colours and formulas alone: any other would give a text the looks of a part of the page.
purify.addHook('uponSanitizeAttribute', (_node, attribute) => {
  if (attribute.attrName === 'class' && !/^(?:hljs-\w[a-z_ -]*|tml-\w+)$/.test(attribute.attrValue))
    attribute.keepAttr = false
})

/** How long "copied" is shown. */
const copiedMs = 2000

/** A fence that names its language. */
const namedCode = /(?:```|~~~) *[a-z]/i

/** What a formula begins with. */
const formulaStart = /\$|\\[([]/

interface MarkdownProps {
  readonly text: string
  /** More of it comes. */
  readonly isGrowing?: boolean
}

/**
 * A text of a model or a person: HTML in it is shown, never used. Pictures are links, code has a button to copy it,
 * formulas are MathML.
 */
export function Markdown({ text, isGrowing = false }: MarkdownProps) {
  const tokens = useMemo(() => lexWithFormulas(markdown, text, isGrowing), [text, isGrowing])
  const links = JSON.stringify(tokens.links)
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the buttons in it are reached by the keyboard
    // biome-ignore lint/a11y/useKeyWithClickEvents: a press of the keyboard on a button is a click
    <div dir="auto" className="markdown min-w-0 break-words" onClick={copyCode}>
      {tokens.map((token, at) => {
        if (token.type === 'space' || token.type === 'def') return null
        // biome-ignore lint/suspicious/noArrayIndexKey: while a text grows, blocks are only added at its end
        return <Block key={at} token={token} links={links} isGrowing={isGrowing && at === tokens.length - 1} />
      })}
    </div>
  )
}

interface BlockProps {
  readonly token: Token
  /** The addresses that are named elsewhere in the text. */
  readonly links: string
  /** More of it may come: what is open at its end is then read otherwise. */
  readonly isGrowing: boolean
}

const onNothing = () => () => {}

/** One paragraph, list, table: of a text that grows only the last one is made anew. */
const Block = memo(
  function Block({ token, links, isGrowing }: BlockProps) {
    const element = useRef<HTMLDivElement>(null)
    const count = useSyncExternalStore(namedCode.test(token.raw) ? onHighlighted : onNothing, highlightedCount)
    const isMath = useSyncExternalStore(formulaStart.test(token.raw) ? onMathLoaded : onNothing, isMathLoaded)
    // biome-ignore lint/correctness/useExhaustiveDependencies: a token is what its text and the addresses make it
    const html = useMemo(() => htmlOf(token), [token.raw, links, isGrowing, isMath])
    // biome-ignore lint/correctness/useExhaustiveDependencies: the colours are there once the count has changed
    useEffect(() => colourCode(element.current!, htmlOf(token)), [count])
    // biome-ignore lint/correctness/useExhaustiveDependencies: the width is that of what is shown
    useEffect(() => reachIfScrolled(element.current!), [html])
    // biome-ignore lint/security/noDangerouslySetInnerHtml: sanitised by htmlOf
    return <div ref={element} dangerouslySetInnerHTML={{ __html: html }} />
  },
  (before, now) =>
    before.token.raw === now.token.raw && before.links === now.links && before.isGrowing === now.isGrowing,
)

const htmlOf = (token: Token): string => purify.sanitize(markdown.parser([token]), allowed)

/** A block whose formula is wider than the page scrolls, and has to be reached by the keyboard then. */
function reachIfScrolled(block: HTMLElement): void {
  if (block.scrollWidth > block.clientWidth && block.querySelector('math')) block.tabIndex = 0
  else block.removeAttribute('tabindex')
}

/** Takes the colours of code from newer HTML of a block. Its buttons stay: one may have the focus, or say "copied". */
function colourCode(block: HTMLElement, newer: string): void {
  const template = document.createElement('template')
  template.innerHTML = newer
  const codes = template.content.querySelectorAll('figure code')
  for (const [at, code] of block.querySelectorAll('figure code').entries()) {
    if (codes[at] && codes[at].innerHTML !== code.innerHTML) code.replaceChildren(...codes[at].childNodes)
  }
}

function copyCode({ target }: MouseEvent): void {
  const button = target instanceof Element ? target.closest('button') : null
  const code = button?.closest('figure')?.querySelector('pre')?.textContent
  if (!button || code == null) return
  void writeClipboard(code).then(done => {
    if (!done) return
    button.textContent = t('all.copied')
    setTimeout(() => (button.textContent = t('all.copy')), copiedMs)
  })
}

const escapes: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }
const escaped = (text: string): string => text.replace(/[&<>"]/g, one => escapes[one]!)

/** Code that still grows has one colour until its fence is closed. */
function codeHtml({ raw, text, lang }: Tokens.Code): string {
  const language = lang?.split(' ')[0] ?? ''
  const isClosed = /(?:```|~~~)$/.test(raw.trimEnd())
  return (isClosed && language && highlighted(text, language)) || escaped(text)
}

/** The source of a formula where it is not complete, or is no TeX. */
const formulaHtml = ({ raw, tex, isDisplay, isOpen }: Formula): string =>
  (!isOpen && mathOf(tex, isDisplay)) || `<code>${escaped(raw.trim())}</code>`

const markdown = new Marked(formulas(formulaHtml), {
  gfm: true,
  breaks: true,
  renderer: {
    html: ({ text }) => escaped(text),
    image: ({ href, text }) => `<a href="${escaped(href)}">${escaped(text || href)}</a>`,
    code: token =>
      `<figure><figcaption><span>${escaped(token.lang?.split(' ')[0] || t('all.code'))}</span>` +
      `<button type="button">${escaped(t('all.copy'))}</button></figcaption>` +
      `<pre tabindex="0"><code>${codeHtml(token)}</code></pre></figure>`,
    // What scrolls has to be reached by the keyboard.
    table(token) {
      return `<div tabindex="0">${Renderer.prototype.table.call(this, token)}</div>`
    },
  },
})
