import { ApiError } from '../../api/client.ts'
import { Button } from '../../components/button.tsx'
import { Markdown } from '../../components/markdown.tsx'
import { ErrorState, Skeleton } from '../../components/states.tsx'
import { Duration } from '../../components/values.tsx'
import { formatCount } from '../../lib/format.ts'
import { t } from '../../strings/index.ts'
import type { Turn } from './use-chat.ts'

interface TurnProps {
  readonly turn: Turn
  /** Absent = another answer is under way, or this is not the last one. */
  readonly onRegenerate?: (() => void) | undefined
}

/** A question, what the model thought (folded) and answered, and what that took. */
export function TurnView({ turn, onRegenerate }: TurnProps) {
  const isStreaming = turn.state === 'streaming'
  return (
    <li className="flex min-w-0 flex-col gap-3">
      <section aria-label={t('chat.you')} className="rounded-panel border border-line bg-panel p-3">
        <p className="break-words whitespace-pre-wrap">{turn.question}</p>
      </section>
      {turn.thinking !== '' && (
        <details className="text-muted">
          <summary>{t('chat.thinking')}</summary>
          <Markdown text={turn.thinking} />
        </details>
      )}
      <section aria-label={turn.model} aria-busy={isStreaming}>
        {isStreaming && turn.text === '' ? <Skeleton className="h-4 w-1/2" /> : <Markdown text={turn.text} />}
      </section>
      {turn.state === 'failed' && <Failure error={turn.error} />}
      {!isStreaming && (
        <footer className="flex flex-wrap items-center gap-3 text-muted">
          {turn.state === 'stopped' && <span>{t('chat.stopped')}</span>}
          <span>{turn.model}</span>
          <Duration milliseconds={turn.tookMs} />
          {turn.inputTokens !== null && turn.outputTokens !== null && (
            <span className="numbers">
              {t('chat.usage', { input: formatCount(turn.inputTokens), output: formatCount(turn.outputTokens) })}
            </span>
          )}
          {onRegenerate && <Button onClick={onRegenerate}>{t('chat.regenerate')}</Button>}
        </footer>
      )}
    </li>
  )
}

/** A refusal of the gateway, or an answer that broke off: its text says why. */
function Failure({ error }: { readonly error: unknown }) {
  if (error instanceof ApiError) return <ErrorState error={error} isInline />
  return (
    <div role="alert" className="flex flex-col gap-2 border-l-2 border-bad pl-3">
      <p className="font-semibold text-bad">{t('chat.cut')}</p>
      {error instanceof Error && <p className="break-words">{error.message}</p>}
    </div>
  )
}
