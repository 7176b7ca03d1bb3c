// What a build of CUDA code refuses: a host's function that calls one of the device, which ends the process at run time.
import { run } from "./ledger-program";

const STUB = `0000000000000340 <row_of(long)>:
 340:	endbr64
 344:	push   %rax
 345:	mov    $0x1,%edi
 34a:	call   34f <row_of(long)+0xf>
			34b: R_X86_64_PLT32	exit-0x4
`;
const LAUNCHER = `0000000000000400 <launch(srp_queue*)>:
 400:	endbr64
 404:	push   %rbp
 40f:	call   414 <launch(srp_queue*)+0x14>
			410: R_X86_64_PLT32	cudaPeekAtLastError-0x4
 44a:	mov    $0x1,%edi
 44f:	call   454 <launch(srp_queue*)+0x54>
			450: R_X86_64_PLT32	exit-0x4
`;
const REGISTERS = LAUNCHER.replace("launch(srp_queue*)>:", "__sti____cudaRegisterAll()>:");
const RIGHT = LAUNCHER.replace("exit-0x4", "exit_queue-0x4").replace("launch(", "other(");

const hostCallsIn = (text: string): unknown =>
  run(`import { hostCallsIn } from "./scripts/build/host-calls.mjs";
console.log(JSON.stringify(hostCallsIn(${JSON.stringify(text)})));`);

test("a launcher that would exit is found; what nvcc itself leaves is not", () => {
  expect(hostCallsIn(STUB + RIGHT + REGISTERS)).toEqual([]);
  expect(hostCallsIn(STUB + LAUNCHER + RIGHT)).toEqual(["launch(srp_queue*)"]);
});
