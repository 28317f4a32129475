import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Plus } from 'lucide-react'
import { useState } from 'react'
import { ask } from '../api/client.ts'
import type { Credential, ModelInfo } from '../api/schema.d.ts'
import { useSession } from '../api/session.ts'
import { Tag } from '../components/badge.tsx'
import { Button } from '../components/button.tsx'
import { Page, Panel } from '../components/page.tsx'
import { EmptyState, ErrorState } from '../components/states.tsx'
import { Table } from '../components/table.tsx'
import type { Column } from '../components/table.tsx'
import { Ago } from '../components/values.tsx'
import { administers } from '../frame/rights.ts'
import { useSearchValue } from '../lib/address.ts'
import { formatCount } from '../lib/format.ts'
import { t } from '../strings/index.ts'
import { CreateCredential } from './providers/create-credential.tsx'
import { CredentialDrawer } from './providers/credential-drawer.tsx'

/** One provider, with what it serves here. */
interface Served {
  readonly provider: string
  readonly deployments: number
  readonly models: readonly string[]
}

const served: readonly Column<Served>[] = [
  { id: 'provider', title: t('providers.provider'), cell: one => one.provider },
  { id: 'deployments', title: t('providers.deployments'), align: 'end', cell: one => formatCount(one.deployments) },
  {
    id: 'models',
    title: t('providers.models'),
    width: 'minmax(160px, 4fr)',
    cell: one => (
      <span className="flex min-w-0 gap-2 overflow-hidden">
        {one.models.map(name => (
          <Link key={name} to="/models" search={{ model: name }} className="whitespace-nowrap underline">
            {name}
          </Link>
        ))}
      </span>
    ),
  },
]

function servedBy(models: readonly ModelInfo[]): Served[] {
  const names = [...new Set(models.map(one => one.model_info.provider))]
  return names.map(provider => {
    const own = models.filter(one => one.model_info.provider === provider)
    return { provider, deployments: own.length, models: [...new Set(own.map(one => one.model_name))] }
  })
}

/** `usersOf` = the public names of models that refer to a credential. */
function columnsOf(usersOf: (name: string) => readonly string[]): readonly Column<Credential>[] {
  return [
    { id: 'name', title: t('providers.credential'), cell: one => one.credential_name },
    {
      id: 'holds',
      title: t('providers.holds'),
      isWideOnly: true,
      cell: one => Object.keys(one.credential_values).join(', '),
    },
    {
      id: 'used',
      title: t('providers.used'),
      align: 'end',
      cell: one => formatCount(usersOf(one.credential_name).length),
    },
    { id: 'source', title: t('providers.source'), cell: one => <SourceTag source={one.source} /> },
    { id: 'changed', title: t('providers.changed'), isWideOnly: true, cell: one => <Ago at={one.updated_at} /> },
  ]
}

/** Keys and addresses that models share, and the providers behind the models. */
export default function ProvidersPage() {
  const session = useSession().data
  const mayChange = session !== undefined && administers(session)
  const [openName, open] = useSearchValue('credential')
  const [isCreating, setCreating] = useState(false)
  const credentials = useQuery({
    queryKey: ['credentials'],
    queryFn: async ({ signal }) => (await ask('GET /credentials', { signal })).credentials,
  })
  const models = useQuery({
    queryKey: ['models', 'all'],
    queryFn: async ({ signal }) => (await ask('GET /v2/model/info', { query: { size: 500 }, signal })).data,
  })
  const usersOf = (name: string) =>
    models.data?.filter(one => one.proxy_params.litellm_credential_name === name).map(one => one.model_name) ?? []
  const chosen = credentials.data?.find(one => one.credential_name === openName)
  const action = mayChange && (
    <Button kind="primary" data-primary icon={<Plus size={16} aria-hidden />} onClick={() => setCreating(true)}>
      {t('providers.create')}
    </Button>
  )
  return (
    <Page title={t('nav.providers')} action={action}>
      {credentials.isError ? (
        <ErrorState error={credentials.error} onRetry={() => void credentials.refetch()} />
      ) : (
        <Table
          label={t('providers.credentials')}
          columns={columnsOf(usersOf)}
          rows={credentials.data}
          rowId={one => one.credential_name}
          rowLink={one => ({ to: '.', search: { credential: one.credential_name } })}
          openId={openName}
          empty={<EmptyState title={t('providers.empty')}>{t('providers.emptyHelp')}</EmptyState>}
        />
      )}
      <Panel title={t('providers.serving')}>
        {models.isError ? (
          <ErrorState error={models.error} onRetry={() => void models.refetch()} />
        ) : (
          <Table
            label={t('providers.serving')}
            columns={served}
            rows={models.data && servedBy(models.data)}
            rowId={one => one.provider}
            empty={<EmptyState title={t('hub.empty')} />}
          />
        )}
      </Panel>
      {chosen && (
        <CredentialDrawer
          credential={chosen}
          models={usersOf(chosen.credential_name)}
          mayChange={mayChange}
          onClose={() => open('')}
        />
      )}
      {isCreating && <CreateCredential onClose={() => setCreating(false)} />}
    </Page>
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
