import { Switch as Base } from '@base-ui/react/switch'
import type { ReactNode } from 'react'

interface SwitchProps {
  readonly label: ReactNode
  readonly help?: string
  readonly checked: boolean
  readonly onChange: (checked: boolean) => void
  readonly disabled?: boolean
}

/** On or off, at once; what takes effect only when saved is a checkbox in a form. */
export function Switch({ label, help, checked, onChange, disabled }: SwitchProps) {
  return (
    // biome-ignore lint/a11y/noLabelWithoutControl: Switch.Root brings the input
    <label className="flex min-h-8 touch:min-h-11 items-center gap-2">
      <Base.Root
        checked={checked}
        onCheckedChange={onChange}
        disabled={disabled}
        className="flex h-4 w-8 shrink-0 items-center rounded-full bg-line-control px-px data-checked:bg-accent"
      >
        <Base.Thumb className="size-3 rounded-full bg-panel data-checked:translate-x-4" />
      </Base.Root>
      <span>
        {label}
        {help && <span className="block text-muted">{help}</span>}
      </span>
    </label>
  )
}
