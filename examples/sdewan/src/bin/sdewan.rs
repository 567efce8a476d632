//! The command `sdewan`.

use std::process::ExitCode;

use clap::Parser;
use mimalloc::MiMalloc;
use sdewan::command::Arguments;

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let ran = machinery::tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(machinery::Error::from)
        .and_then(|runtime| runtime.block_on(arguments.run()));
    ran.unwrap_or_else(|error| {
        eprintln!("sdewan: {error}");
        ExitCode::FAILURE
    })
}
