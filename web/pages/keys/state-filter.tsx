import type { KeyState } from '../../api/keys.ts'
import { Select } from '../../components/forms/select.tsx'
import { t } from '../keys.page.ts'

const states: readonly KeyState[] = ['active', 'ending', 'expired', 'blocked']

interface StateFilterProps {
  readonly state: KeyState | ''
  readonly onChange: (state: string) => void
}

/** What keys are good for. */
export function StateFilter({ state, onChange }: StateFilterProps) {
  return (
    <Select
      isCompact
      label={t('keys.status')}
      value={state as string}
      onChange={onChange}
      choices={[
        { value: '', label: t('keys.everyState') },
        ...states.map(value => ({ value: value as string, label: t(`keys.state.${value}`) })),
      ]}
    />
  )
}
