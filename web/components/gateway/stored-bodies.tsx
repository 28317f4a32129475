import { useMutation, useQuery } from '@tanstack/react-query'
import { ask } from '../../api/client.ts'
import { useSession } from '../../api/session.ts'
import { mayReadAll } from '../../frame/rights.ts'
import { t } from '../../strings/index.ts'
import { Select } from '../forms/select.tsx'
import { ErrorState } from '../states.tsx'

interface StoredBodiesProps {
  /** As `store_prompts_in_spend_logs` of the key or team; null = it leaves that to others. */
  readonly isStored: boolean | null
  readonly mayChange: boolean
  readonly save: (isStored: boolean | null) => Promise<unknown>
  readonly onChanged: () => unknown
}

const values = { others: null, yes: true, no: false } as const
type Choice = keyof typeof values

const choices = (['others', 'yes', 'no'] as const).map(value => ({ value, label: t(`bodies.${value}`) }))

/** Whether what is said in the calls of a key or team is stored, what that means, and for how long. */
export function StoredBodies({ isStored, mayChange, save, onChanged }: StoredBodiesProps) {
  const session = useSession().data
  // What is stored, also after a change that was refused.
  const update = useMutation({ mutationFn: save, onSettled: onChanged })
  const value: Choice = isStored === null ? 'others' : isStored ? 'yes' : 'no'
  return (
    <section className="flex flex-col gap-2" aria-label={t('bodies.title')}>
      <h2 className="font-semibold">{t('bodies.title')}</h2>
      {mayChange ? (
        <Select
          isCompact
          label={t('bodies.title')}
          choices={choices}
          value={value}
          disabled={update.isPending}
          onChange={chosen => update.mutate(values[chosen])}
        />
      ) : (
        <p>{t(`bodies.${value}`)}</p>
      )}
      <p className="text-muted">{t('bodies.help')}</p>
      {session && mayReadAll(session) && <OfGateway />}
      {update.isError && <ErrorState error={update.error} isInline />}
    </section>
  )
}

const retentionKey = 'general_settings.maximum_stored_bodies_retention_period'

/** What the configuration says; for those who may read it. */
function OfGateway() {
  const settings = useQuery({
    queryKey: ['effective-configuration'],
    queryFn: ({ signal }) => ask('GET /config/effective', { signal }),
  })
  if (!settings.data) return null
  const settingOf = (key: string) => settings.data.values.find(one => one.key === key)?.value
  const isOn = settingOf('general_settings.store_prompts_in_spend_logs')
  const isOff = isOn === false || settingOf('settings.turn_off_message_logging') === true
  return (
    <p className="text-muted">
      {t(isOff ? 'bodies.gateway.no' : isOn === true ? 'bodies.gateway.yes' : 'bodies.gateway.others')}{' '}
      {t('bodies.retention', { period: String(settingOf(retentionKey)) })}
    </p>
  )
}
