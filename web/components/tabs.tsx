import { Tabs as Base } from '@base-ui/react/tabs'
import clsx from 'clsx'
import type { ReactNode } from 'react'

export interface Tab {
  readonly value: string
  readonly label: string
  readonly content: ReactNode
}

interface TabsProps {
  readonly label: string
  readonly tabs: readonly Tab[]
  /** Absent = kept by the part itself, beginning with the first. */
  readonly value?: string
  readonly onChange?: (value: string) => void
}

const tabClass = clsx(
  '-mb-px h-8 touch:h-11 touch:min-w-11 border-b-2 border-transparent whitespace-nowrap text-muted',
  'data-active:border-accent data-active:text-text',
)

export function Tabs({ label, tabs, value, onChange }: TabsProps) {
  return (
    <Base.Root
      value={value}
      defaultValue={value === undefined ? tabs[0]?.value : undefined}
      onValueChange={(chosen: string) => onChange?.(chosen)}
      className="flex min-w-0 flex-col gap-3"
    >
      <Base.List aria-label={label} className="flex gap-4 overflow-x-auto border-b border-line">
        {tabs.map(tab => (
          <Base.Tab key={tab.value} value={tab.value} className={tabClass}>
            {tab.label}
          </Base.Tab>
        ))}
      </Base.List>
      {tabs.map(tab => (
        <Base.Panel key={tab.value} value={tab.value} className="min-w-0">
          {tab.content}
        </Base.Panel>
      ))}
    </Base.Root>
  )
}
