import { Menu as Base } from '@base-ui/react/menu'
import clsx from 'clsx'
import { Check } from 'lucide-react'
import type { ReactElement, ReactNode } from 'react'
import { itemClass, popupClass } from './popup-class.ts'

interface MenuProps {
  /** A Button. */
  readonly trigger: ReactElement
  readonly children: ReactNode
  readonly isOpenAtFirst?: boolean
}

export function Menu({ trigger, children, isOpenAtFirst }: MenuProps) {
  return (
    <Base.Root modal={false} defaultOpen={isOpenAtFirst}>
      <Base.Trigger render={trigger} />
      <Base.Portal>
        <Base.Positioner sideOffset={4} align="end" className="z-50">
          <Base.Popup className={popupClass}>{children}</Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  )
}

interface MenuItemProps {
  readonly children: ReactNode
  readonly onPress: () => void
  readonly icon?: ReactNode
  /** Destroys something. */
  readonly isDanger?: boolean
  readonly disabled?: boolean
}

export function MenuItem({ children, onPress, icon, isDanger, disabled }: MenuItemProps) {
  return (
    <Base.Item onClick={onPress} disabled={disabled} className={clsx(itemClass, isDanger && 'text-bad')}>
      {icon}
      {children}
    </Base.Item>
  )
}

export function MenuSeparator() {
  return <Base.Separator className="my-1 border-t border-line" />
}

/** A group of which one is chosen: the theme, the language. */
export function MenuChoice({
  label,
  choices,
  value,
  onChange,
}: {
  readonly label: string
  readonly choices: readonly { readonly value: string; readonly label: string }[]
  readonly value: string
  readonly onChange: (value: string) => void
}) {
  return (
    <Base.Group>
      <Base.GroupLabel className="px-2 py-1 text-muted">{label}</Base.GroupLabel>
      <Base.RadioGroup value={value} onValueChange={(chosen: string) => onChange(chosen)}>
        {choices.map(choice => (
          <Base.RadioItem key={choice.value} value={choice.value} className={itemClass} closeOnClick>
            <span className="grow">{choice.label}</span>
            <Base.RadioItemIndicator>
              <Check size={14} aria-hidden />
            </Base.RadioItemIndicator>
          </Base.RadioItem>
        ))}
      </Base.RadioGroup>
    </Base.Group>
  )
}

/** One of several that may be shown: columns. The menu stays open. */
export function MenuToggle({
  children,
  checked,
  onChange,
}: {
  readonly children: ReactNode
  readonly checked: boolean
  readonly onChange: (checked: boolean) => void
}) {
  return (
    <Base.CheckboxItem checked={checked} onCheckedChange={onChange} className={itemClass}>
      <span className="size-4">
        <Base.CheckboxItemIndicator>
          <Check size={14} aria-hidden />
        </Base.CheckboxItemIndicator>
      </span>
      {children}
    </Base.CheckboxItem>
  )
}
