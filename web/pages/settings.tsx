import { useQuery } from '@tanstack/react-query'
import { ask } from '../api/client.ts'
import type { EffectiveConfiguration, EffectiveValue } from '../api/schema.d.ts'
import { Appearance } from '../components/appearance.tsx'
import { Badge } from '../components/badge.tsx'
import { Facts } from '../components/facts.tsx'
import { Page, Panel } from '../components/page.tsx'
import { SearchField } from '../components/forms/search-field.tsx'
import { Select } from '../components/forms/select.tsx'
import { EmptyState, ErrorState, Skeleton } from '../components/states.tsx'
import { Table } from '../components/table.tsx'
import type { Column } from '../components/table.tsx'
import { useOpened, useSearchValue } from '../lib/address.ts'
import { formatCount } from '../lib/format.ts'
import { useSearchText } from '../lib/search-text.ts'
import { textOf } from '../strings/index.ts'
import { page, t } from './settings.page.ts'
import { SettingDrawer } from './settings/setting-drawer.tsx'
import { SettingValue, SourceTag } from './settings/value.tsx'

const groups = [
  'general',
  'routing',
  'limits',
  'sign-in',
  'mail',
  'retention',
  'cache',
  'prices',
  'agents',
  'providers',
] as const satisfies readonly EffectiveValue['group'][]

const columns: readonly Column<EffectiveValue>[] = [
  {
    id: 'key',
    title: t('settings.key'),
    width: 'minmax(160px, 3fr)',
    cell: one => <span className="font-mono text-code">{one.key}</span>,
  },
  { id: 'value', title: t('settings.value'), width: 'minmax(100px, 3fr)', cell: one => <SettingValue setting={one} /> },
  {
    id: 'source',
    title: t('settings.source'),
    isWideOnly: true,
    width: 'minmax(120px, 2fr)',
    cell: one => <SourceTag setting={one} />,
  },
]

const isSet = ({ source }: EffectiveValue): boolean => source !== 'default'

/** What holds in the gateway, and where each value comes from. Nothing is changed here: the source is where it is. */
export default function SettingsPage() {
  const [searched] = useSearchValue('q')
  const [group] = useSearchValue('group')
  const [which] = useSearchValue('which')
  const [openKey, , close] = useOpened('setting')
  const settings = useQuery({
    queryKey: ['effective-configuration'],
    queryFn: ({ signal }) => ask('GET /config/effective', { signal }),
  })
  const search = searched.toLowerCase()
  const values = settings.data?.values
  const rows = values?.filter(
    one =>
      (group === '' || one.group === group) &&
      (which === '' || isSet(one)) &&
      `${one.key} ${one.description}`.toLowerCase().includes(search),
  )
  const chosen = values?.find(one => one.key === openKey)
  return (
    <Page title={textOf(page.title)} filters={<Filters />}>
      {settings.isError ? (
        <ErrorState error={settings.error} onRetry={() => void settings.refetch()} />
      ) : (
        <>
          <Table
            label={textOf(page.title)}
            columns={columns}
            rows={rows}
            rowId={one => one.key}
            rowLink={one => ({ to: '.', search: { setting: one.key } })}
            openId={openKey}
            empty={<EmptyState title={t('all.noMatch')} />}
          />
          <div className="grid items-start gap-4 wide:grid-cols-2">
            <About about={settings.data?.about} />
            <div className="flex min-w-0 flex-col gap-4">
              <Appearance />
              {settings.data && settings.data.warnings.length > 0 && <Warnings lines={settings.data.warnings} />}
            </div>
          </div>
        </>
      )}
      {chosen && <SettingDrawer setting={chosen} onClose={close} />}
    </Page>
  )
}

/** Search, group, and whether defaults are shown; all in the address. */
function Filters() {
  const { text, type } = useSearchText()
  const [group, setGroup] = useSearchValue('group')
  const [which, setWhich] = useSearchValue('which')
  return (
    <>
      <SearchField label={t('settings.search')} value={text} onChange={type} />
      <Select
        isCompact
        label={t('settings.group')}
        choices={[
          { value: '', label: t('settings.everyGroup') },
          ...groups.map(value => ({ value, label: t(`settings.group.${value}`) })),
        ]}
        value={group}
        onChange={setGroup}
      />
      <Select
        isCompact
        label={t('settings.which')}
        choices={[
          { value: '', label: t('settings.all') },
          { value: 'set', label: t('settings.onlySet') },
        ]}
        value={which}
        onChange={setWhich}
      />
    </>
  )
}

const databaseStates = {
  connected: 'settings.connected',
  'read-only': 'settings.readOnly',
  disconnected: 'settings.disconnected',
} as const

/** This installation: version, database, replicas. */
function About({ about }: { readonly about: EffectiveConfiguration['about'] | undefined }) {
  if (!about)
    return (
      <Panel title={t('settings.about')}>
        <Skeleton className="h-8 w-full" />
      </Panel>
    )
  return (
    <Panel title={t('settings.about')}>
      <Facts
        facts={[
          { name: t('settings.version'), value: about.version },
          { name: t('settings.file'), value: about.config_file ?? t('settings.noFile') },
          {
            name: t('settings.database'),
            value: (
              <Badge tone={about.database === 'connected' ? 'good' : 'bad'}>{t(databaseStates[about.database])}</Badge>
            ),
          },
          { name: 'Redis', value: <Redis state={about.redis} /> },
          {
            name: t('settings.replicas'),
            value: about.replicas === null ? t('settings.alone') : formatCount(about.replicas),
          },
          { name: t('settings.priceList'), value: about.price_list },
          { name: t('settings.deployments'), value: formatCount(about.models) },
        ]}
      />
    </Panel>
  )
}

function Redis({ state }: { readonly state: EffectiveConfiguration['about']['redis'] }) {
  if (state === 'not configured') return <Badge>{t('settings.noRedis')}</Badge>
  const isUp = state === 'connected'
  return <Badge tone={isUp ? 'good' : 'warn'}>{t(isUp ? 'settings.connected' : 'settings.disconnected')}</Badge>
}

function Warnings({ lines }: { readonly lines: readonly string[] }) {
  return (
    <Panel title={t('settings.warnings')}>
      <ul className="flex flex-col gap-2">
        {lines.map(line => (
          <li key={line} className="break-words border-l-2 border-warn pl-3">
            {line}
          </li>
        ))}
      </ul>
    </Panel>
  )
}
