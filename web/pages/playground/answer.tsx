import { ApiError } from '../../api/client.ts'
import { Badge } from '../../components/badge.tsx'
import { Markdown } from '../../components/text/markdown.tsx'
import { ErrorState, Skeleton } from '../../components/states.tsx'
import { formatCount } from '../../lib/format.ts'
import { t } from '../playground.page.ts'
import type { Output, Score } from './output.ts'
import type { Run } from './use-runs.ts'

/** What a model has answered, in the form that fits it. */
export function AnswerView({ run, label }: { readonly run: Run | undefined; readonly label: string }) {
  if (!run) return <p className="text-muted">{t('playground.idle')}</p>
  return (
    <section aria-label={label} aria-busy={run.state === 'running'} className="flex min-w-0 flex-col gap-3">
      <OutputView output={run.output} isGrowing={run.state === 'running'} />
      {run.state === 'running' && run.output.text === '' && <Skeleton className="h-4 w-1/2" />}
      {run.state === 'stopped' && <p className="text-muted">{t('playground.stopped')}</p>}
      {run.state === 'failed' && <Failure error={run.error} />}
    </section>
  )
}

function OutputView({ output, isGrowing }: { readonly output: Output; readonly isGrowing: boolean }) {
  const { text, thinking, tools, images, sound, scores, dimensions, isFlagged } = output
  return (
    <>
      {thinking !== '' && (
        <details className="text-muted">
          <summary>{t('playground.thinking')}</summary>
          <Markdown text={thinking} isGrowing={isGrowing} />
        </details>
      )}
      {text !== '' && <Markdown text={text} isGrowing={isGrowing} />}
      {tools.map((tool, at) => (
        <pre
          // biome-ignore lint/suspicious/noArrayIndexKey: they are only added at the end
          key={at}
          className="rounded-control border border-line p-3 font-mono text-code break-words whitespace-pre-wrap"
        >
          {tool.name}({tool.input})
        </pre>
      ))}
      {images.map(address => (
        <Picture key={address} address={address} />
      ))}
      {/* biome-ignore lint/a11y/useMediaCaption: what is spoken is the text above */}
      {sound !== null && <audio controls src={sound} className="w-full" />}
      {dimensions !== null && <p>{t('playground.vector', { count: formatCount(dimensions) })}</p>}
      {isFlagged !== null && (
        <Badge tone={isFlagged ? 'bad' : 'good'}>{t(isFlagged ? 'playground.flagged' : 'playground.notFlagged')}</Badge>
      )}
      {scores.length > 0 && <Scores scores={scores} />}
    </>
  )
}

/** A picture of another host is a link: this page loads nothing from elsewhere. */
export function Picture({ address }: { readonly address: string }) {
  if (address.startsWith('data:'))
    return <img src={address} alt={t('playground.picture')} className="max-w-full rounded-control" />
  const isWeb = /^https?:/i.test(address)
  return isWeb ? (
    <a href={address} target="_blank" rel="noopener noreferrer nofollow" className="break-words underline">
      {address}
    </a>
  ) : (
    <p className="break-words">{address}</p>
  )
}

function Scores({ scores }: { readonly scores: readonly Score[] }) {
  return (
    <dl className="flex flex-col">
      {scores.map(({ label, value, isMarked }, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: equal lines may be sent twice
        <div key={at} className="flex justify-between gap-4 border-b border-line py-1">
          <dt className="min-w-0 break-words">{label}</dt>
          <dd className={isMarked ? 'numbers font-semibold text-bad' : 'numbers'}>{value.toFixed(4)}</dd>
        </div>
      ))}
    </dl>
  )
}

/** A refusal of the gateway, or an answer that broke off: its text says why. */
function Failure({ error }: { readonly error: unknown }) {
  if (error instanceof ApiError) return <ErrorState error={error} isInline />
  return (
    <div role="alert" className="flex flex-col gap-2 border-l-2 border-bad pl-3">
      <p className="font-semibold text-bad">{t('playground.cut')}</p>
      {error instanceof Error && <p className="break-words">{error.message}</p>}
    </div>
  )
}
