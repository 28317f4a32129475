import { Combobox as Base } from '@base-ui/react/combobox'
import clsx from 'clsx'
import { Check } from 'lucide-react'
import type { ReactElement } from 'react'
import type { HubModel } from '../../api/model-groups.ts'
import { inputClass } from '../../components/forms/input-class.ts'
import { itemClass, popupClass } from '../../components/overlays/popup-class.ts'
import { formatCompact, formatMoney } from '../../lib/format.ts'
import { t } from '../chat.page.ts'

interface ModelPickerProps {
  readonly models: readonly HubModel[]
  /** null = none is marked. */
  readonly value: string | null
  readonly onPick: (name: string) => void
  /** A Button. */
  readonly trigger: ReactElement
}

/** One model of many, found by typing, with how much it reads and what it costs. */
export function ModelPicker({ models, value, onPick, trigger }: ModelPickerProps) {
  const chosen = models.find(one => one.model_group === value) ?? null
  return (
    <Base.Root
      items={models}
      autoHighlight
      value={chosen}
      onValueChange={one => one && onPick(one.model_group)}
      itemToStringLabel={one => one.model_group}
      isItemEqualToValue={(one, other) => one.model_group === other.model_group}
    >
      <Base.Trigger render={trigger} />
      <Base.Portal>
        <Base.Positioner sideOffset={4} align="start" className="z-50">
          <Base.Popup className={clsx(popupClass, 'flex w-(--picker) flex-col gap-1')} aria-label={t('chat.model')}>
            <Base.Input placeholder={t('chat.searchModels')} className={clsx(inputClass, 'shrink-0')} />
            <Base.Empty className="px-2 text-muted empty:hidden">{t('all.noMatch')}</Base.Empty>
            <Base.List className="min-h-0 overflow-y-auto">
              {(one: HubModel) => (
                <Base.Item key={one.model_group} value={one} className={itemClass}>
                  <span className="min-w-0 grow truncate">{one.model_group}</span>
                  <span className="numbers shrink-0 text-muted">{aboutModel(one)}</span>
                  <span className="size-4 shrink-0">
                    <Base.ItemIndicator>
                      <Check size={14} aria-hidden />
                    </Base.ItemIndicator>
                  </span>
                </Base.Item>
              )}
            </Base.List>
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  )
}

const million = 1_000_000

/** `200K · $3.00 / $15.00`: the context, and a million tokens in and out. */
function aboutModel({ max_input_tokens, input_cost_per_token, output_cost_per_token }: HubModel): string {
  const price = [input_cost_per_token, output_cost_per_token].map(one =>
    one == null ? '–' : formatMoney(one * million),
  )
  const isPriced = input_cost_per_token != null || output_cost_per_token != null
  return [max_input_tokens && formatCompact(max_input_tokens), isPriced && price.join(' / ')]
    .filter(Boolean)
    .join(' · ')
}
