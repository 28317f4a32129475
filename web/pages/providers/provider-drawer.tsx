import { Link } from '@tanstack/react-router'
import type { ProviderHealth } from '../../api/schema.d.ts'
import { Badge } from '../../components/badge.tsx'
import { BlockButton, BlockNote } from '../../components/gateway/block-deployment.tsx'
import { Drawer } from '../../components/overlays/drawer.tsx'
import { Facts } from '../../components/facts.tsx'
import { TestCall } from '../../components/gateway/test-call.tsx'
import { Ago } from '../../components/values.tsx'
import { explanationOf } from '../../lib/error-explanations.ts'
import { t } from '../providers.page.ts'
import { limitText } from './provider-state.tsx'

type Provider = ProviderHealth['providers'][number]
type Deployment = Provider['deployments'][number]

interface ProviderDrawerProps {
  readonly provider: Provider
  readonly mayChange: boolean
  readonly onClose: () => void
}

/** One provider: each of its deployments with its key, what its answers told, and a test call. */
export function ProviderDrawer({ provider, mayChange, onClose }: ProviderDrawerProps) {
  return (
    <Drawer open onClose={onClose} title={provider.provider}>
      <div className="flex flex-col gap-8">
        <p className="text-muted">{t('providers.ofReplica')}</p>
        {provider.deployments.map(one => (
          <DeploymentState key={one.model_id} deployment={one} mayChange={mayChange} />
        ))}
      </div>
    </Drawer>
  )
}

function DeploymentState({ deployment: one, mayChange }: { deployment: Deployment; mayChange: boolean }) {
  const key = one.credential_name ?? t(one.has_key ? 'providers.ownKey' : 'providers.noKey')
  return (
    <section className="flex flex-col gap-3" aria-label={`${one.model_name} ${one.model}`}>
      <h3 className="min-w-0 font-semibold break-words">
        <Link to="/models" search={{ model: one.model_name }} className="target underline">
          {one.model_name}
        </Link>{' '}
        <span className="font-normal text-muted">{one.model}</span>
      </h3>
      <BlockNote block={one} />
      {one.cooldowns.map(cooldown => (
        <span key={cooldown.model} className="flex flex-wrap gap-2">
          <Badge tone="bad">{t('health.cooling')}</Badge>
          <span className="text-muted">
            {t('providers.until')} <Ago at={cooldown.until} />
          </span>
        </span>
      ))}
      <Facts
        facts={[
          { name: t('providers.key'), value: key },
          ...one.rate_limits.map(limit => ({
            name: t(`providers.limit.${limit.kind}`),
            value: <span className="numbers">{limitText(limit)}</span>,
          })),
          {
            name: t('providers.told'),
            value: one.rate_limits_at ? <Ago at={one.rate_limits_at} /> : t('providers.toldNone'),
          },
        ]}
      />
      {one.last_error && (
        <div className="flex flex-col gap-1 border-l-2 border-warn pl-3">
          <span>
            {t('providers.lastError')} <Ago at={one.last_error.at} />
          </span>
          <span>{t(explanationOf(one.last_error.code))}</span>
          <span className="break-words text-muted">{one.last_error.message}</span>
        </div>
      )}
      {mayChange && !one.blocked && <TestCall id={one.model_id} />}
      {mayChange && (
        <div className="flex">
          <BlockButton id={one.model_id} name={`${one.model_name} (${one.model})`} isBlocked={one.blocked} />
        </div>
      )}
    </section>
  )
}
