import DOMPurify from 'dompurify'
import { marked } from 'marked'
import { memo, useMemo } from 'react'

/** What Markdown makes, and nothing that loads, runs, frames or styles. */
const allowed = {
  ALLOWED_TAGS: [
    'a',
    'blockquote',
    'br',
    'code',
    'del',
    'em',
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
    'strong',
    'table',
    'tbody',
    'td',
    'th',
    'thead',
    'tr',
    'ul',
  ],
  ALLOWED_ATTR: ['href', 'title', 'start', 'align'],
  ALLOWED_URI_REGEXP: /^(?:https?|mailto):/i,
}

const purify = DOMPurify(window)
// Links of a text leave the pages, without telling where from.
purify.addHook('afterSanitizeAttributes', node => {
  if (node.tagName !== 'A') return
  node.setAttribute('target', '_blank')
  node.setAttribute('rel', 'noopener noreferrer nofollow')
})

/** A text of a model or a person: HTML in it is shown, never used. Pictures are links. */
export const Markdown = memo(function Markdown({ text }: { readonly text: string }) {
  const html = useMemo(() => toHtml(text), [text])
  // biome-ignore lint/security/noDangerouslySetInnerHtml: sanitised two lines above
  return <div className="markdown min-w-0 break-words" dangerouslySetInnerHTML={{ __html: html }} />
})

const escapes: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }
const escaped = (text: string): string => text.replace(/[&<>"]/g, one => escapes[one]!)

const renderer = new marked.Renderer()
renderer.html = ({ text }) => escaped(text)
renderer.image = ({ href, text }) => `<a href="${escaped(href)}">${escaped(text || href)}</a>`

function toHtml(text: string): string {
  return purify.sanitize(marked.parse(text, { async: false, renderer, gfm: true, breaks: true }), allowed)
}
