import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { ReactNode } from 'react'
import { ApiError, ask } from '../api/client.ts'
import type { CachePing, SpendLog } from '../api/schema.d.ts'
import { useSession } from '../api/session.ts'
import { Badge, Tag } from '../components/badge.tsx'
import { Button } from '../components/button.tsx'
import { CodeBlock } from '../components/text/code-block.tsx'
import { Confirm } from '../components/overlays/dialog.tsx'
import { Facts } from '../components/facts.tsx'
import { HitList } from '../components/gateway/hit-list.tsx'
import { Page, Panel } from '../components/page.tsx'
import { EmptyState, ErrorState, SkeletonRows } from '../components/states.tsx'
import type { Column } from '../components/table.tsx'
import { toast } from '../components/overlays/toast.tsx'
import { Money } from '../components/values.tsx'
import { isAdministrator } from '../frame/rights.ts'
import { formatCompact, formatCount, formatPercent } from '../lib/format.ts'
import { textOf } from '../strings/index.ts'
import { page, t } from './caching.page.ts'
import { CacheActivity } from './caching/activity.tsx'
import { ForgetAnswers } from './caching/forget-answers.tsx'

const nanoUsd = 1e9

const hitColumns: readonly Column<SpendLog>[] = [
  { id: 'kind', title: t('caching.found'), cell: call => <Tag>{call.cache_hit_kind}</Tag> },
  {
    id: 'saved',
    title: t('caching.saved'),
    align: 'end',
    cell: call => <Money usd={call.saved_nano_usd === null ? null : Number(call.saved_nano_usd) / nanoUsd} />,
  },
]

/** What answers are kept, what that saves, and how they are forgotten. */
export default function CachingPage() {
  const session = useSession().data
  const mayChange = session !== undefined && isAdministrator(session)
  const cache = useQuery({
    queryKey: ['cache'],
    queryFn: ({ signal }) => ask('GET /cache/ping', { signal }),
    retry: false,
  })
  const isOff = cache.error instanceof ApiError && cache.error.original.startsWith('no answers are kept')
  return (
    <Page title={textOf(page.title)} action={mayChange && cache.data && <FlushButton />}>
      {isOff ? (
        <EmptyState title={t('caching.off')} action={<HowToTurnOn />}>
          {t('caching.offHelp')}
        </EmptyState>
      ) : cache.isError ? (
        <ErrorState error={cache.error} onRetry={() => void cache.refetch()} />
      ) : cache.data ? (
        <State cache={cache.data} mayChange={mayChange} />
      ) : (
        <SkeletonRows />
      )}
      {!isOff && <HitList of="cache" title={t('caching.hits')} columns={hitColumns} empty={t('caching.noHits')} />}
    </Page>
  )
}

function HowToTurnOn() {
  const code = 'litellm_settings:\n  cache: true\n  cache_params: { type: local, ttl: 600 }'
  return <CodeBlock label={t('caching.turnOn')} snippets={[{ title: 'config.yaml', code }]} />
}

/** Where they are kept, what was found since the start of the process, and the settings. */
function State({ cache, mayChange }: { readonly cache: CachePing; readonly mayChange: boolean }) {
  const { hits, misses, saved, answers, bytes } = cache
  const found = Object.values(hits).reduce((sum, count) => sum + count, 0)
  const lookups = found + misses
  const kinds = Object.entries(hits).map(([kind, count]) => `${kind} ${formatCount(count)}`)
  return (
    <>
      <dl className="grid gap-3 narrow:grid-cols-4">
        <Figure name={t('caching.rate')} value={lookups === 0 ? '–' : formatPercent(found / lookups)}>
          {t('caching.ofCalls', { found: formatCount(found), asked: formatCount(lookups) })}
        </Figure>
        <Figure name={t('caching.saved')} value={<Money usd={saved} />}>
          {t('caching.notPaid')}
        </Figure>
        <Figure name={t('caching.kept')} value={formatCount(answers)}>
          {t('caching.bytes', { count: formatCompact(bytes) })}
        </Figure>
        <Figure
          name={t('caching.where')}
          value={<Badge tone="good">{t(cache.cache_type === 'redis' ? 'caching.redis' : 'caching.memory')}</Badge>}
        >
          {kinds.join(', ') || t('caching.noHits')}
        </Figure>
      </dl>
      <p className="text-muted">{t('caching.sinceStart')}</p>
      <CacheActivity />
      <div className="grid items-start gap-4 wide:grid-cols-2">
        <CacheSettings shown={cache.litellm_cache_params} />
        {mayChange && <ForgetAnswers />}
      </div>
    </>
  )
}

function Figure({
  name,
  value,
  children,
}: {
  readonly name: string
  readonly value: ReactNode
  readonly children: ReactNode
}) {
  return (
    <div className="flex min-w-0 flex-col gap-1 rounded-panel border border-line bg-panel p-4">
      <dt className="text-muted">{name}</dt>
      <dd className="text-title font-semibold">{value}</dd>
      <dd className="text-muted">{children}</dd>
    </div>
  )
}

/** Those of the exact cache, and, when they are asked for, those of meaning: their sources are in the configuration. */
function CacheSettings({ shown }: { readonly shown: Readonly<Record<string, unknown>> }) {
  const [isWhole, setWhole] = useState(false)
  const all = useQuery({
    queryKey: ['effective-configuration'],
    queryFn: ({ signal }) => ask('GET /config/effective', { signal }),
    enabled: isWhole,
  })
  const semantic = all.data?.values.filter(one => /cache_params\.(?:semantic_|similarity)/.test(one.key)) ?? []
  const facts = [
    ...Object.entries(shown),
    ...semantic.map(one => [one.key.slice(one.key.lastIndexOf('.') + 1), one.value] as const),
  ]
  return (
    <Panel
      title={t('caching.settings')}
      action={
        <Link to="/settings" search={{ group: 'cache' }} className="target underline">
          {t('caching.sources')}
        </Link>
      }
    >
      <Facts
        facts={facts.map(([name, value]) => ({
          name,
          value:
            value === null || value === ''
              ? t('settings.notSet')
              : Array.isArray(value)
                ? value.join(', ')
                : String(value),
        }))}
      />
      {!all.data && (
        <Button kind="quiet" busy={all.isFetching} onClick={() => setWhole(true)}>
          {t('caching.semantic')}
        </Button>
      )}
    </Panel>
  )
}

const flushWord = 'flush'

function FlushButton() {
  const client = useQueryClient()
  const [isOpen, setOpen] = useState(false)
  const flush = useMutation({
    mutationFn: () => ask('POST /cache/flushall', { body: {} }),
    onSuccess: () => {
      toast(t('caching.flushed'))
      setOpen(false)
      return client.invalidateQueries({ queryKey: ['cache'] })
    },
  })
  return (
    <>
      <Button kind="danger" onClick={() => setOpen(true)}>
        {t('caching.flush')}
      </Button>
      <Confirm
        open={isOpen}
        onClose={() => setOpen(false)}
        title={t('caching.flush')}
        description={t('caching.flushHelp')}
        action={t('caching.flush')}
        typed={flushWord}
        busy={flush.isPending}
        onConfirm={() => flush.mutate()}
        problem={flush.error && <ErrorState error={flush.error} isInline />}
      />
    </>
  )
}
