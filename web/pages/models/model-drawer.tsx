import { useQuery } from '@tanstack/react-query'
import { ask } from '../../api/client.ts'
import type { ModelInfo } from '../../api/schema.d.ts'
import { useSession } from '../../api/session.ts'
import { Tag } from '../../components/badge.tsx'
import { BlockButton, BlockNote } from '../../components/gateway/block-deployment.tsx'
import { Drawer } from '../../components/overlays/drawer.tsx'
import { Facts } from '../../components/facts.tsx'
import { Id } from '../../components/id.tsx'
import { EmptyState, ErrorState, SkeletonRows } from '../../components/states.tsx'
import { TestCall } from '../../components/gateway/test-call.tsx'
import { isAdministrator } from '../../frame/rights.ts'
import { t } from '../models.page.ts'
import type { StringKey } from '../models.page.ts'
import { ChangeDeployment } from './change-deployment.tsx'
import { pricesOf } from './prices.ts'

/** One public name: each deployment behind it, with its prices and a test call. */
export function ModelDrawer({ name, onClose }: { readonly name: string; readonly onClose: () => void }) {
  const session = useSession().data
  const found = useQuery({
    queryKey: ['models', 'one', name],
    queryFn: ({ signal }) => ask('GET /v2/model/info', { query: { model: name, size: 500 }, signal }),
  })
  return (
    <Drawer open onClose={onClose} title={name}>
      {found.isPending && <SkeletonRows />}
      {found.isError && <ErrorState error={found.error} onRetry={() => void found.refetch()} />}
      {found.data?.data.length === 0 && <EmptyState title={t('error.notFound')}>{t('error.notFoundHelp')}</EmptyState>}
      <div className="flex flex-col gap-8">
        {found.data?.data.map(one => (
          <Deployment
            key={one.model_info.id}
            deployment={one}
            mayChange={session !== undefined && isAdministrator(session)}
            onDeleted={() => found.data.data.length === 1 && onClose()}
          />
        ))}
      </div>
    </Drawer>
  )
}

interface DeploymentProps {
  readonly deployment: ModelInfo
  readonly mayChange: boolean
  readonly onDeleted: () => void
}

function Deployment({ deployment, mayChange, onDeleted }: DeploymentProps) {
  const { proxy_params: params, model_info: info } = deployment
  const prices = pricesOf(info)
  return (
    <section className="flex flex-col gap-3" aria-label={params.model}>
      <div className="flex flex-wrap items-center gap-2">
        <h3 className="min-w-0 font-semibold break-words">{params.model}</h3>
        <SourceTag source={info.source} where={info.source_where} />
      </div>
      <BlockNote block={info} />
      {mayChange && info.source !== 'api' && info.source_where && (
        <p className="text-muted">{t('models.readOnly', { where: info.source_where })}</p>
      )}
      <Facts
        facts={[
          { name: t('models.id'), value: <Id id={info.id} /> },
          { name: t('models.mode'), value: info.mode },
          ...(params.api_base ? [{ name: t('models.address'), value: params.api_base }] : []),
          ...(params.credential_name ? [{ name: t('models.credential'), value: params.credential_name }] : []),
          { name: t('models.priceSource'), value: info.price_source ?? t('money.unknown') },
          ...prices.map(({ name, text }) => ({ name, value: <span className="numbers">{text}</span> })),
        ]}
      />
      {mayChange && !info.blocked && <TestCall id={info.id} />}
      {mayChange && (
        <div className="flex">
          <BlockButton id={info.id} name={`${deployment.model_name} (${params.model})`} isBlocked={info.blocked} />
        </div>
      )}
      {mayChange && info.source === 'api' && <ChangeDeployment deployment={deployment} onDeleted={onDeleted} />}
    </section>
  )
}

const sources: Readonly<Record<string, StringKey>> = {
  config: 'models.byFile',
  api: 'models.byApi',
  environment: 'models.byEnvironment',
  discovered: 'models.discovered',
  'built-in': 'models.builtIn',
}

/** Where a deployment comes from: `file config.yaml:12`, where that may be known. */
export function SourceTag({ source, where }: { readonly source: string; readonly where?: string | undefined }) {
  const word = sources[source]
  const name = word ? t(word) : source
  // Of those made by API it is their own id. Of a file its name and line are enough; the whole path is on hover.
  const origin = source === 'config' ? where?.replace(/^.*\//, '') : source === 'api' ? undefined : where
  return (
    <span title={where} className="min-w-0 truncate">
      <Tag>{origin ? `${name} ${origin}` : name}</Tag>
    </span>
  )
}
