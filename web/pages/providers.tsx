import { useQuery } from '@tanstack/react-query'
import { Plus } from 'lucide-react'
import { useState } from 'react'
import { ask } from '../api/client.ts'
import type { Credential, ProviderHealth } from '../api/schema.d.ts'
import { useSession } from '../api/session.ts'
import { Tag } from '../components/badge.tsx'
import { Button } from '../components/button.tsx'
import { Missing } from '../components/overlays/missing.tsx'
import { Page, Panel } from '../components/page.tsx'
import { EmptyState, ErrorState } from '../components/states.tsx'
import { Table } from '../components/table.tsx'
import type { Column } from '../components/table.tsx'
import { Ago } from '../components/values.tsx'
import { isAdministrator } from '../frame/rights.ts'
import { useOpened } from '../lib/address.ts'
import { formatCount } from '../lib/format.ts'
import { textOf } from '../strings/index.ts'
import { page, t } from './providers.page.ts'
import { CreateCredential } from './providers/create-credential.tsx'
import { CredentialDrawer } from './providers/credential-drawer.tsx'
import { ProviderDrawer } from './providers/provider-drawer.tsx'
import { limitText, ProviderState, tightestLimit } from './providers/provider-state.tsx'

/** What calls tell changes by itself. */
const refreshMs = 15_000

type Provider = ProviderHealth['providers'][number]

const providerColumns: readonly Column<Provider>[] = [
  {
    id: 'provider',
    title: t('providers.provider'),
    width: 'minmax(90px, 1fr)',
    cell: one => <span className="truncate">{one.provider}</span>,
  },
  {
    id: 'state',
    title: t('health.state'),
    width: 'minmax(140px, 1fr)',
    cell: one => <ProviderState provider={one} />,
  },
  {
    id: 'deployments',
    title: t('providers.deployments'),
    align: 'end',
    isWideOnly: true,
    cell: one => formatCount(one.deployments.length),
  },
  {
    id: 'keys',
    title: t('providers.keys'),
    isWideOnly: true,
    cell: one => <span className="truncate">{keysOf(one)}</span>,
  },
  {
    id: 'limit',
    title: t('providers.tightest'),
    isWideOnly: true,
    width: 'minmax(160px, 2fr)',
    cell: one => <Tightest provider={one} />,
  },
]

/** Names of credentials, and how many deployments have a key of their own. */
function keysOf({ deployments }: Provider): string {
  const named = [...new Set(deployments.flatMap(one => one.credential_name ?? []))]
  const own = deployments.filter(one => one.credential_name === null && one.has_key).length
  return [...named, ...(own > 0 ? [t('providers.ownKeys', { count: formatCount(own) })] : [])].join(', ') || '–'
}

function Tightest({ provider }: { readonly provider: Provider }) {
  const limit = tightestLimit(provider)
  if (!limit) return <span className="text-muted">–</span>
  return (
    <span className="numbers truncate">
      {t(`providers.limit.${limit.kind}`)}: {limitText(limit)}
    </span>
  )
}

/** `usersOf` = the public names of models that refer to a credential. */
function columnsOf(usersOf: (name: string) => readonly string[]): readonly Column<Credential>[] {
  return [
    {
      id: 'name',
      title: t('providers.credential'),
      cell: one => <span className="truncate">{one.credential_name}</span>,
    },
    {
      id: 'holds',
      title: t('providers.holds'),
      isWideOnly: true,
      cell: one => <span className="truncate">{Object.keys(one.credential_values).join(', ')}</span>,
    },
    {
      id: 'used',
      title: t('providers.used'),
      align: 'end',
      isWideOnly: true,
      cell: one => formatCount(usersOf(one.credential_name).length),
    },
    { id: 'source', title: t('providers.source'), cell: one => <SourceTag source={one.source} /> },
    { id: 'changed', title: t('providers.changed'), isWideOnly: true, cell: one => <Ago at={one.updated_at} /> },
  ]
}

/** Keys and addresses that models share, and the providers behind the models. */
export default function ProvidersPage() {
  const session = useSession().data
  const mayChange = session !== undefined && isAdministrator(session)
  const [openName, , close] = useOpened('credential')
  const [isCreating, setCreating] = useState(false)
  const credentials = useQuery({
    queryKey: ['credentials'],
    queryFn: async ({ signal }) => (await ask('GET /credentials', { signal })).credentials,
  })
  const providers = useProviders()
  const usersOf = (name: string) =>
    providers.data
      ?.flatMap(one => one.deployments.filter(each => each.credential_name === name))
      .map(each => each.model_name) ?? []
  const chosen = credentials.data?.find(one => one.credential_name === openName)
  const action = mayChange && (
    <Button kind="primary" data-primary icon={<Plus size={16} aria-hidden />} onClick={() => setCreating(true)}>
      {t('providers.create')}
    </Button>
  )
  return (
    <Page title={textOf(page.title)} action={action}>
      {credentials.isError ? (
        <ErrorState error={credentials.error} onRetry={() => void credentials.refetch()} />
      ) : (
        <Table
          label={t('providers.credentials')}
          columns={columnsOf(usersOf)}
          rows={credentials.data}
          rowId={one => one.credential_name}
          rowLink={one => ({ to: '.', search: { credential: one.credential_name, provider: undefined } })}
          openId={openName}
          empty={<EmptyState title={t('providers.empty')}>{t('providers.emptyHelp')}</EmptyState>}
        />
      )}
      <Serving providers={providers} mayChange={mayChange} />
      {openName !== '' && credentials.data && !chosen && <Missing name={openName} onClose={close} />}
      {chosen && (
        <CredentialDrawer
          key={openName}
          credential={chosen}
          models={usersOf(chosen.credential_name)}
          mayChange={mayChange}
          onClose={close}
        />
      )}
      {isCreating && <CreateCredential onClose={() => setCreating(false)} />}
    </Page>
  )
}

function useProviders() {
  return useQuery({
    queryKey: ['providers'],
    queryFn: async ({ signal }) => (await ask('GET /health/providers', { signal })).providers,
    refetchInterval: refreshMs,
  })
}

interface ServingProps {
  readonly providers: ReturnType<typeof useProviders>
  readonly mayChange: boolean
}

/** What is behind the models, provider by provider, and how it fares. */
function Serving({ providers: { data, isError, error, refetch }, mayChange }: ServingProps) {
  const [name, , close] = useOpened('provider')
  const chosen = data?.find(one => one.provider === name)
  return (
    <Panel title={t('providers.serving')}>
      {isError ? (
        <ErrorState error={error} onRetry={() => void refetch()} />
      ) : (
        <Table
          label={t('providers.serving')}
          columns={providerColumns}
          rows={data}
          rowId={one => one.provider}
          rowLink={one => ({ to: '.', search: { provider: one.provider, credential: undefined } })}
          openId={name}
          empty={<EmptyState title={t('hub.empty')} />}
        />
      )}
      {name !== '' && data && !chosen && <Missing name={name} onClose={close} />}
      {chosen && <ProviderDrawer provider={chosen} mayChange={mayChange} onClose={close} />}
    </Panel>
  )
}

/** Made by API, or the place in the configuration file. */
function SourceTag({ source }: { readonly source: string }) {
  return (
    <span title={source}>
      <Tag>{source === 'api' ? t('models.byApi') : source.slice(source.lastIndexOf('/') + 1)}</Tag>
    </span>
  )
}
