/**
 * How QEMU runs the guest. /dev/kvm may exist, open and answer and still hang at once when the
 * machine is a VM without nested virtualisation; the processor's own flags tell.
 */

import { CannotRun } from "./needs.ts";

export type Accel = "kvm" | "tcg";
export const ACCELS = ["auto", "kvm", "tcg"] as const;
export type AccelChoice = typeof ACCELS[number];

/** Whether a /proc/cpuinfo text tells of virtualisation by the processor (Intel, AMD). */
export function cpuCanVirtualise(cpuinfo: string): boolean {
  return cpuinfo.split("\n").some((line) => /^flags\s*:.*\b(vmx|svm)\b/.test(line));
}

/**
 * kHz at which the time stamp counter ticks: the nominal rate in the model's name, which
 * frequency scaling does not change, else the present one.
 */
export function tscKhz(cpuinfo: string): number | undefined {
  const nominal = /^model name\s*:.*@ ([\d.]+)GHz/m.exec(cpuinfo);
  if (nominal !== null) return Math.round(Number(nominal[1]) * 1e6);
  const present = /^cpu MHz\s*:\s*([\d.]+)/m.exec(cpuinfo);
  return present === null ? undefined : Math.round(Number(present[1]) * 1e3);
}

/**
 * The accelerator for a choice.
 *
 * @param kvmOpens whether /dev/kvm can be opened
 * @throws {CannotRun} when KVM was asked for and can't be had
 */
export function chooseAccel(choice: AccelChoice, cpuinfo: string, kvmOpens: boolean): Accel {
  const fit = cpuCanVirtualise(cpuinfo) && kvmOpens;
  if (choice === "kvm" && !fit) {
    throw new CannotRun(
      kvmOpens
        ? "no KVM: the processor shows neither vmx nor svm, so guests would hang; use --accel tcg"
        : "no KVM: /dev/kvm can't be opened; use --accel tcg",
    );
  }
  return choice === "auto" ? fit ? "kvm" : "tcg" : choice;
}

/** {@link chooseAccel} for this machine. */
export function accelHere(choice: AccelChoice): Accel {
  let kvmOpens = true;
  try {
    Deno.openSync("/dev/kvm", { read: true, write: true }).close();
  } catch {
    // Not there or not ours: the same to QEMU.
    kvmOpens = false;
  }
  return chooseAccel(choice, Deno.readTextFileSync("/proc/cpuinfo"), kvmOpens);
}
