import { Wrench } from 'lucide-react'
import { t } from '../chat.page.ts'
import type { Message } from './tree.ts'

type Content = Message['content']

/** Tools that the model called, folded: what they were given. */
export function ToolCalls({ calls }: { readonly calls: NonNullable<Content['tool_calls']> }) {
  return calls.map((call, at) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: they are only added at the end
    <details key={at} className="rounded-control border border-line px-3 py-2">
      <summary>
        <Wrench size={14} className="mr-2 inline" aria-hidden />
        {t('chat.toolCall', { name: call.name })}
      </summary>
      <pre className="mt-2 font-mono text-code break-words whitespace-pre-wrap text-muted">
        {readable(call.arguments)}
      </pre>
    </details>
  ))
}

/** JSON in lines; what is not complete stays as it is. */
function readable(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), undefined, 2)
  } catch {
    return text
  }
}

/** The pages that an answer is made of. */
export function Sources({ sources }: { readonly sources: NonNullable<Content['sources']> }) {
  if (sources.length === 0) return null
  return (
    <section aria-label={t('chat.sources')}>
      <p className="text-muted">{t('chat.sources')}</p>
      <ol className="list-inside list-decimal">
        {sources.map(({ url, title }) => (
          <li key={url} className="truncate">
            <a href={url} target="_blank" rel="noopener noreferrer nofollow" className="text-accent underline">
              {title || url}
            </a>
          </li>
        ))}
      </ol>
    </section>
  )
}
