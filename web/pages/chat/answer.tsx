import { Link } from '@tanstack/react-router'
import { RefreshCw } from 'lucide-react'
import type { ReactNode } from 'react'
import type { HubModel } from '../../api/model-groups.ts'
import { Badge } from '../../components/badge.tsx'
import { Button } from '../../components/button.tsx'
import { Markdown } from '../../components/text/markdown.tsx'
import { Skeleton } from '../../components/states.tsx'
import { Duration, Money, Tokens } from '../../components/values.tsx'
import { formatSpeed } from '../../lib/format.ts'
import { t } from '../chat.page.ts'
import { Sources, ToolCalls } from './answer-details.tsx'
import { Failure } from './failure.tsx'
import { CopyButton } from './copy-button.tsx'
import { ModelPicker } from './model-picker.tsx'
import { isRunning } from './tree.ts'
import type { Message } from './tree.ts'
import { Verdicts } from './verdicts.tsx'

interface AnswerProps {
  readonly message: Message
  readonly models: readonly HubModel[]
  /** Answers the question again by this model; absent = an answer is under way. */
  readonly onAgain: ((model: string) => void) | undefined
  /** Side by side: the conversation goes on from another answer, and this leads it here. */
  readonly onChoose: (() => void) | undefined
  /** The way to other answers to the question. */
  readonly variants: ReactNode
}

/** What a model thought (folded) and answered, how it ended, and what it took. */
export function AnswerView({ message, models, onAgain, onChoose, variants }: AnswerProps) {
  const { content, status, problem } = message
  const { text, thinking = '', model = '' } = content
  const runs = isRunning(message)
  return (
    <article aria-label={model} aria-busy={runs} className="flex min-w-0 grow flex-col gap-3">
      <p className="text-muted">{model}</p>
      {thinking !== '' && (
        <details className="text-muted">
          <summary>{t(runs && text === '' ? 'chat.thinkingNow' : 'chat.thinking')}</summary>
          <div className="mt-2 border-l-2 border-line pl-3">
            <Markdown text={thinking} isGrowing={runs} />
          </div>
        </details>
      )}
      {text !== '' && <Markdown text={text} isGrowing={runs} />}
      {runs && text === '' && !content.tool_calls && <Skeleton className="h-4 w-1/2" />}
      <ToolCalls calls={content.tool_calls ?? []} />
      <Sources sources={content.sources ?? []} />
      <Verdicts verdicts={content.guardrails ?? []} />
      {problem !== null && <p className="text-bad">{problem}</p>}
      {content.error && <Failure error={content.error} onRetry={onAgain && (() => onAgain(model))} />}
      {status === 'stopped' && <Badge>{t('chat.stopped')}</Badge>}
      {content.finish_reason === 'length' && <Badge tone="warn">{t('chat.tooLong')}</Badge>}
      {!runs && (
        <footer className="flex flex-wrap items-center gap-x-3 gap-y-1 text-muted">
          <span className="-ml-2 flex items-center">
            {variants}
            {text !== '' && <CopyButton text={text} label={t('chat.copyAnswer')} />}
            {onAgain && <AgainButton models={models} model={model} onAgain={onAgain} />}
          </span>
          <Figures content={content} />
          {onChoose && <Button onClick={onChoose}>{t('chat.goOnHere')}</Button>}
        </footer>
      )}
    </article>
  )
}

interface AgainProps {
  readonly models: readonly HubModel[]
  readonly model: string
  readonly onAgain: (model: string) => void
}

/** By the same model, or by one of the list. */
function AgainButton({ models, model, onAgain }: AgainProps) {
  const icon = <RefreshCw size={14} aria-hidden />
  return (
    <>
      <Button
        kind="quiet"
        icon={icon}
        aria-label={t('chat.regenerate')}
        title={t('chat.regenerate')}
        busy={false}
        onClick={() => onAgain(model)}
      />
      <ModelPicker
        models={models}
        value={null}
        onPick={onAgain}
        trigger={
          <Button kind="quiet" aria-label={t('chat.regenerateWith')}>
            {t('chat.regenerateWith')}
          </Button>
        }
      />
    </>
  )
}

/** Tokens, cost and time, and the way to the call in the log. */
function Figures({ content }: { readonly content: Message['content'] }) {
  const { input_tokens, output_tokens, cost, duration_ms, first_token_ms, cached, call_id } = content
  if (duration_ms == null && cost == null) return null
  return (
    <span className="flex flex-wrap items-center gap-x-3" title={figuresTitle(content)}>
      {output_tokens != null && (
        <span>
          {t('chat.tokensIn')} <Tokens count={input_tokens} /> · {t('chat.tokensOut')} <Tokens count={output_tokens} />
        </span>
      )}
      {cost !== undefined && <Money usd={cost} />}
      {duration_ms != null && <Duration milliseconds={duration_ms} />}
      {first_token_ms != null && (
        <span className="sr-only">
          {t('chat.firstToken')} <Duration milliseconds={first_token_ms} />
        </span>
      )}
      {cached && <span>{t('chat.cached')}</span>}
      {call_id && (
        <Link to="/logs" search={{ call: call_id }} className="target underline">
          {t('chat.log')}
        </Link>
      )}
    </span>
  )
}

function figuresTitle({ first_token_ms, output_tokens, duration_ms }: Message['content']): string {
  const streamedMs = (duration_ms ?? 0) - (first_token_ms ?? 0)
  if (first_token_ms == null || output_tokens == null || streamedMs < 50) return ''
  const speed = (output_tokens / streamedMs) * 1000
  return t('chat.speed', { first: first_token_ms, speed: formatSpeed(speed) })
}
